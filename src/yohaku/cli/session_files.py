"""Commands on session files: `doctor` repairs one (or checks a set-up), `export` writes one in another format."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from yohaku import messages
from yohaku.cli.files import InputError, name_of, read, to_json, write
from yohaku.config.settings import Settings


def doctor(arguments: argparse.Namespace, settings: Settings) -> int:
    if arguments.file is None:
        from yohaku.doctor.setup import report

        page, code = report(settings)
        print(page)
        return code
    from yohaku.doctor import path_beside, repair

    repaired = repair(read(arguments, settings, "doctor"))
    file = name_of(arguments.file)
    if repaired.data is None:
        print(messages.say("doctor_healthy", settings.lang, name=file))
        return 0
    piped = arguments.file == "-"
    out = arguments.out or ("-" if piped else str(path_beside(Path(arguments.file))))
    if not piped and out != "-" and Path(out).exists() and Path(arguments.file).samefile(out):
        raise InputError(messages.say("doctor_same_file", settings.lang, name=file))
    stream = sys.stderr if out == "-" else sys.stdout
    for note in repaired.notes:
        print(note.render(settings.lang), file=stream)
    write(out, repaired.data, settings)
    count = len(repaired.notes)
    print(messages.say("doctor_written", settings.lang, name=file, count=count, about=out), file=stream)
    return 0


def export(arguments: argparse.Namespace, settings: Settings) -> int:
    from yohaku.session import transcript

    if arguments.to == "transcript":
        if not arguments.out:
            raise InputError(messages.say("export_out", settings.lang))
        transcript.import_session(arguments.file, arguments.out)
    else:
        write(arguments.out, to_json(transcript.export(arguments.file, arguments.to)), settings)
    return 0
