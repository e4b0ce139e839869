# SPDX-License-Identifier: Apache-2.0
"""The ``prism-vo`` command: a table of lazily loaded commands, and the one place errors are caught."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence

from cyclopts import App, CycloptsError, Parameter

from prism_vo import __version__
from prism_vo.commands.quiet import quietly
from prism_vo.errors import PrismError
from prism_vo.interruption import ending_like_ctrl_c, exit_code

EXIT_OK, EXIT_INPUT = 0, 2
QUIET = {"-q", "--quiet"}

# name on the command line, function "module:function" in prism_vo.commands, one line of help
COMMANDS = (
    ("info", "info:info", "Say what a folder, image or calibration is, and what the camera can measure."),
    ("config", "config:config", "Print all settings with their defaults and comments."),
    ("import-calibration", "import_calibration:import_calibration", "Make camera.yaml of vendors' files."),
    ("simulate", "simulate:simulate", "Render a plenoptic sequence with exact ground truth."),
    ("depth", "depth:depth", "Decode raw images: focused image, virtual depth, uncertainty."),
    ("run", "run:run", "Estimate the camera's path and a point cloud from a sequence."),
    (
        "run-many",
        "run_many:run_many",
        "Run over many recordings, several at once, here or on a cluster.",
    ),
    ("dense", "dense:dense", "Make a dense coloured map and a mesh of finished runs."),
    ("refine", "refine:refine", "Adjust all keyframes of a finished run at once."),
    ("eval", "evaluate:evaluate", "Compare a trajectory with ground truth."),
    ("bench", "bench:bench", "Run a benchmark over sequences and print its tables."),
    ("export", "export:export", "Write a sequence or result in another program's format."),
    ("view", "view:view", "Look at a result."),
    ("demo", "demo:demo", "Simulate a short recording, track it, and print the errors against the truth."),
)
CALIBRATE = "Find numbers of a camera in its own images: the micro-lens grid, the optics."
CALIBRATE_COMMANDS = (
    ("grid", "calibrate:grid", "Find the micro-lens grid in images, or correct the one of a camera file."),
    ("camera", "calibrate_camera:camera", "Find the optics from a recording of any rigid scene."),
    (
        "board",
        "calibrate_board:board",
        "Find the optics from pictures of a checkerboard, or from its corners.",
    ),
)


# what stands behind the name, for the line of usage; [OPTIONS] come last
ARGUMENTS = {
    "info": "PATH",
    "import-calibration": "MLA.xml [CameraModel.xml]",
    "simulate": "SCENE [OUT]",
    "depth": "RAW... --out FOLDER",
    "run": "SEQUENCE|--source CAMERA|--resume RESULTS",
    "run-many": "RECORDINGS... --out FOLDER",
    "dense": "RESULTS...",
    "refine": "RESULTS",
    "eval": "ESTIMATE... GROUNDTRUTH",
    "export": "RESULTS|SEQUENCE --as FORM",
    "view": "RESULTS|MAP",
    "calibrate grid": "IMAGES...",
    "calibrate camera": "SEQUENCE --out FILE",
    "calibrate board": "IMAGES...|CORNERS.csv --square MM",
}
PLAIN = Parameter(negative_iterable=())  # no --empty-NAME beside every option that takes several values


def build_app() -> App:
    """The application with every command; their modules are loaded when they are called."""
    app = App(
        name="prism-vo",
        help="Metric visual odometry with a single focused plenoptic camera.",
        version=__version__,
        help_format="plaintext",  # no markdown parser to import: help appears at once
        result_action="return_value",
        suppress_keyboard_interrupt=False,
        default_parameter=PLAIN,
    )
    for name, target, help_line in COMMANDS:
        app.command(f"prism_vo.commands.{target}", name=name, help=help_line, usage=_usage(name))
    calibrate = App(name="calibrate", help=CALIBRATE, help_format="plaintext", default_parameter=PLAIN)
    for name, target, help_line in CALIBRATE_COMMANDS:
        usage = _usage(f"calibrate {name}")
        calibrate.command(f"prism_vo.commands.{target}", name=name, help=help_line, usage=usage)
    app.command(calibrate)
    app.register_install_completion_command(
        help="Complete commands and options with the Tab key in this shell."
    )
    return app


def _usage(name: str) -> str:
    words = f"{name} {ARGUMENTS[name]}" if name in ARGUMENTS else name
    return f"Usage: prism-vo {words} [OPTIONS]"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code.

    0: done. 2: wrong input, or output that cannot be written; one sentence says which. 3: done, but frames were lost or
    left out. 129, 130, 143: ended by SIGHUP, Ctrl-C, SIGTERM.
    """
    tokens = list(sys.argv[1:] if arguments is None else arguments)
    if isinstance(sys.stdout, io.TextIOWrapper):  # names of files may hold what no encoding can
        sys.stdout.reconfigure(errors="backslashreplace")
    try:
        with ending_like_ctrl_c(), quietly(QUIET & {*tokens} != set()):
            result = build_app()(tokens, exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except PrismError as error:
        return _report(str(error), error.exit_code)
    except CycloptsError as error:
        return _report(f"{_one_line(str(error))} Try: prism-vo {_known_command(tokens)}--help", EXIT_INPUT)
    except BrokenPipeError:
        # the reader of our output (head, less) went away, which is no error; flush nothing to it any more
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return EXIT_OK
    except OSError as error:
        return _report(f"{error.filename or 'operating system'}: {error.strerror or error}.", EXIT_INPUT)
    except KeyboardInterrupt as interrupt:
        safe = "; ".join(getattr(interrupt, "__notes__", []))
        return _report(f"Interrupted{f'; {safe}' if safe else ''}.", exit_code(interrupt))
    return result if isinstance(result, int) else EXIT_OK


def _report(sentence: str, code: int) -> int:
    """One line, whatever characters a file's name has: neither a new line nor the colours of a terminal."""
    line = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in sentence)
    print(f"prism-vo: {line}", file=sys.stderr)
    return code


def _one_line(text: str) -> str:
    sentence = " ".join(text.split())
    return sentence if sentence.endswith((".", "?", "!")) else sentence + "."


def _known_command(tokens: list[str]) -> str:
    names = {name for name, _, _ in COMMANDS}
    return f"{tokens[0]} " if tokens and tokens[0] in names else ""


if __name__ == "__main__":
    sys.exit(main())
