"""Kits by the name of their dialect: what each wire format wants, one file each."""

from __future__ import annotations

from importlib import import_module

from yohaku.doctor.kit import Kit


def kit_for(dialect: str) -> Kit:
    kit: Kit = import_module(f"yohaku.doctor.kits.{dialect}").KIT()
    return kit
