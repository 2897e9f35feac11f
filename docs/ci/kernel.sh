#!/usr/bin/env bash
# kernel.sh TREE BASE HEAD: configures and prepares two commits of the Linux repository TREE, compares their struct
# layouts, and prints a mail if rules got worse. The exit status is that of `layoutlint diff`. It runs the makefiles of
# both commits, so use it where their builds may run. For another build, set for example:
#
#   CONFIG=x86_64_defconfig   the target that configures (default: defconfig)
#   DEBUG_INFO=1              builds vmlinux with debug information, and compares all structs of it
#   STRUCTS='sk_buff'         compares only structs with a matching name
#   JOBS=8                    processes of make (default: one for each processor)
#   RULES=my-rules.toml       a rule file (default: layoutlint.toml of this folder, or else those of HEAD)
set -euo pipefail

fail() { echo "kernel.sh: $1" >&2; exit 2; }
[[ $# == 3 ]] || fail 'give TREE BASE HEAD'
tree=$1
commits=("$(git -C "$tree" rev-parse --verify --quiet --end-of-options "$2^{commit}")") || fail "$tree has no commit $2"
commits+=("$(git -C "$tree" rev-parse --verify --quiet --end-of-options "$3^{commit}")") || fail "$tree has no commit $3"

work=$(mktemp -d)
trap 'rm -rf -- "$work"; git -C "$tree" worktree prune' EXIT

inputs=()
for commit in "${commits[@]}"; do
  source=$work/${commit:0:12}
  [[ ! -e $source ]] || fail 'BASE and HEAD are the same commit'
  git -C "$tree" -c advice.detachedHead=false worktree add --quiet --detach "$source" "$commit"
  make=(make -C "$source" -s -j "${JOBS:-$(nproc)}")
  "${make[@]}" "${CONFIG:-defconfig}" >&2 || fail "$commit cannot be configured"
  if [[ -n ${DEBUG_INFO:-} ]]; then
    "$source/scripts/config" --file "$source/.config" -d DEBUG_INFO_NONE -d DEBUG_INFO_REDUCED -e DEBUG_INFO_DWARF_TOOLCHAIN_DEFAULT
    "${make[@]}" olddefconfig vmlinux >&2 || fail "$commit cannot be built"
    inputs+=("$source/vmlinux")
  else
    "${make[@]}" prepare >&2 || fail "$commit cannot be prepared"
    inputs+=("$source")
  fi
done

[[ -n ${RULES:-} || ! -e layoutlint.toml ]] || RULES=layoutlint.toml
status=0
layoutlint diff "${inputs[@]}" ${RULES:+"--rules=$RULES"} ${STRUCTS:+"--struct=$STRUCTS"} >"$work/report" || status=$?
if [[ $status == 1 ]]; then
  printf 'Subject: [layoutlint] %s: struct layouts got worse\n\n' "${commits[1]:0:12}"
  printf 'Between %s and %s (%s), by layoutlint diff:\n\n' "${commits[0]:0:12}" "${commits[1]:0:12}" "${CONFIG:-defconfig}"
  cat "$work/report"
  printf '\nTo find the commit of a rule RULE:\n\n  layoutlint bisect RULE %s..%s\n' "${commits[0]:0:12}" "${commits[1]:0:12}"
else
  cat "$work/report" >&2
fi
exit "$status"
