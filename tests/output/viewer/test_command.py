"""`zwang view`: served on this computer only, errors of one sentence, and a clean end."""

import os
import re
import signal
import subprocess
import sys
import urllib.error
import urllib.request

import pytest

from tests.cli.command_line import zwang


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "view.html").write_text("<p>the page</p>")
    (tmp_path / "secret.txt").write_text("not a file of a run")
    return tmp_path


def _as_in_a_terminal():
    """Let Ctrl-C through, which a shell that starts the tests in the background has them ignore."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def fetched(address, **headers):
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(urllib.request.Request(address, headers=headers), timeout=10) as answer:
        return answer.read().decode()


def test_a_run_is_served_on_this_computer_until_it_is_interrupted(folder):
    command = [sys.executable, "-m", "zwang", "view", str(folder), "--port", "0", "--no-open"]
    server = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ,
        preexec_fn=_as_in_a_terminal,
    )
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/view\.html", server.stdout.readline())[0]
        assert fetched(address) == "<p>the page</p>"
        for wrong, headers in (
            (address.replace("view.html", "secret.txt"), {}),
            (address, {"Host": "elsewhere.example"}),
        ):
            with pytest.raises(urllib.error.HTTPError, match="404"):
                fetched(wrong, **headers)
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=20)
    finally:
        server.kill()
    assert (server.returncode, out.strip(), err) == (0, "ended", "")


def test_what_cannot_be_viewed_is_told_in_a_sentence(tmp_path):
    answer = zwang("view", tmp_path / "nowhere")
    assert answer.code == 2 and "there is no run" in answer.err and "zwang run MODEL" in answer.err
    answer = zwang("view", tmp_path)
    assert (
        answer.code == 2
        and "has no view.html: expected the folder that `zwang run MODEL` has written" in answer.err
    )
    (tmp_path / "run.nc").touch()
    answer = zwang("view", tmp_path)
    assert answer.code == 2 and "define scene, a zw.Scene" in answer.err


def test_a_taken_port_is_told_in_a_sentence(folder):
    import socket

    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        answer = zwang("view", folder, "--port", taken.getsockname()[1], "--no-open")
    assert answer.code == 2 and "give another one with --port" in answer.err
