#!/usr/bin/env bash
# abidiff says that two libraries have the same ABI although a bit-field of a struct in their interface got narrower.
#
# Seen with abigail-tools and libabigail0 2.2-2 of Debian 12, gcc 12.2. `unsigned a : 5` becomes `unsigned a : 4`: no
# member moves, the type keeps its spelling, and DW_AT_bit_size differs. abidiff prints nothing and its status is 0, also
# with --harmless --redundant. Where the member behind it gets another type, the same command tells that, with status 4.
set -euo pipefail
for program in gcc apt-get dpkg-deb; do
  command -v "$program" >/dev/null || { echo "no $program"; exit 1; }
done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
chmod 755 .
apt-get download -qq abigail-tools=2.2-2 libabigail0=2.2-2 2>/dev/null
for package in *.deb; do dpkg-deb -x "$package" root; done
libraries=$(echo root/usr/lib/*-linux-gnu*)
cat > old.c <<'C'
struct s { unsigned a : 5; int b; };
int f(struct s *p) { return p->a + p->b; }
C
sed 's/a : 5/a : 4/' old.c > narrower.c
sed 's/int b/long b/' old.c > longer.c
for name in old narrower longer; do gcc -g -shared -fPIC "$name.c" -o "$name.so"; done
compare() { # NAME: the status of abidiff, which prints what differs
  local status=0
  LD_LIBRARY_PATH=$libraries root/usr/bin/abidiff --harmless --redundant old.so "$1.so" > "$1.txt" || status=$?
  echo "$1: status $status, $(wc -l < "$1.txt") lines"
  return "$status"
}
compare narrower
[[ ! -s narrower.txt ]]
compare longer && exit 1
grep -m1 "type of 'int b' changed" longer.txt
