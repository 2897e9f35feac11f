"""The structs that Linux marks `__randomize_layout`, for inputs without attributes."""

from __future__ import annotations

from functools import cache

from layoutlint.randstruct.marked import MarkedName, MarkedNames

VERSION = "7.2"
"""The Linux version of the list. Other versions may mark further structs."""
MARKED = """
    address_space binfmt_misc block_device cdev cpuinfo_x86 cred cred_security_struct ctl_table file
    file_lease file_lock file_operations fs_struct fscrypt_master_key fscrypt_master_key_secret
    futex_pi_state futex_q group_info inode ipc_namespace kern_ipc_perm key_preparsed_payload key_type
    kset linux_binfmt linux_binprm lsm_static_call lsm_static_calls_table mnt_namespace module
    module_kobject mount msg_queue nameidata neighbour net path pde_opener pid_namespace policydb
    proc_dir_entry proc_inode proc_maps_private proc_ns_operations proc_ops proto renamedata
    request_key_auth sched_rt_entity security_hook_list selinux_audit_data selinux_policy selinux_state
    sem_array shmid_kernel signal_struct subprocess_info super_block task_security_struct time_namespace
    tty_driver tty_operations tty_struct unix_skb_parms user_namespace uts_namespace vfsmount
    vm_area_struct
"""
INNER = (("mm_struct", "pgd"), ("task_struct", "stack"))
"""Unnamed marked structs: the containing struct, and a member (`randomized_struct_fields_start`)."""
UNRANDOMISED = """
    cfs_tg_state cpu_cache_fns lock_class paravirt_patch_template pv_cpu_ops pv_irq_ops pv_lock_ops
    pv_mmu_ops rq
"""
"""Structs with `__no_randomize_layout`."""


@cache
def linux_names() -> MarkedNames:
    """Return the structs that Linux marks, as names; an input may lack any of them."""
    place = f"Linux {VERSION}"
    marked = [MarkedName(place, name, (), False) for name in MARKED.split()]
    unrandomised = [MarkedName(place, name, (), True) for name in UNRANDOMISED.split()]
    inner = [MarkedName(place, struct, (member,), False, is_optional=True) for struct, member in INNER]
    return MarkedNames((*marked, *unrandomised, *inner))
