"""Kinds of joints, one file each, whose `JOINT` is a `zwang.mechanism.joint_kind.JointKind`.

`zwang.mechanism.registry` finds every file in this folder: to add a joint, write one file here and
one test with a closed form of its motion in `tests/mechanism/joints`.
"""
