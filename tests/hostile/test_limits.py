"""The limits are those stated in SECURITY.md; valid files are within them; the server answers 404
to paths outside a run.
"""

import http.client
import re
import threading
from pathlib import Path

import pytest

from tests.cli.command_line import spoken_to, zwang
from zwang.cli import advice
from zwang.errors import Result
from zwang.files import LIMITS
from zwang.files.toml import parsed_toml
from zwang.gallery.index.mechanisms import FOLDER
from zwang.inputs.text import escaped
from zwang.output.viewer import serving

ROOT = Path(__file__).resolve().parents[2]


def test_security_states_every_limit():
    rows = re.findall(r"^\| (.+) \| (\d+) (.+) \|$", (ROOT / "SECURITY.md").read_text(), re.M)
    assert rows == [(x.what, str(x.value), x.unit) for x in LIMITS.values()]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.toml")), ids=lambda x: x.stem)
def test_a_mechanism_of_the_gallery_keeps_the_limits(path):
    assert parsed_toml(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        'a = """x\n"quoted" [[[ """\nb = 1',
        "a = '''it's'''",
        'a = "\\"[[["  # [[[[ "',
        "'a.b'.\"c\" = [1.5, 2.5, [3.5]]",
        "a = [\n  0.1, 0.2,\n  0.3,\n]\nb.c.d = 1",
        "\ufeff".strip("\ufeff") + "a = 1\r\nb = 2\r\n",
    ],
)
def test_strings_comments_and_lists_do_not_count_as_nesting(text):
    import tomllib

    assert parsed_toml(text) == tomllib.loads(text)


@pytest.mark.parametrize(
    "path",
    [
        "/a%00.html",
        f"/{'x' * 5000}.html",
        "/%ff%fe.html",
        "/../../etc/passwd.html",
        "/pipe.html",
        "/",
    ],
)
def test_the_server_answers_404_to_what_is_no_file_of_the_run(path, tmp_path, capfd):
    import os

    (tmp_path / "view.html").write_text("<p>the page</p>")
    os.mkfifo(tmp_path / "pipe.html")
    with serving(tmp_path, 0) as (server, _):
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            line = http.client.HTTPConnection("127.0.0.1", server.server_address[1], timeout=10)
            line.request("GET", path)
            assert line.getresponse().status == 404
            line.request("GET", "/view.html")
            assert line.getresponse().read() == b"<p>the page</p>"
            line.close()
        finally:
            server.shutdown()
            thread.join()
    assert capfd.readouterr().err == ""


def test_advice_of_the_library_is_put_into_words_of_the_command_line():
    with spoken_to("run"):
        ends = [result.sentence for result in Result]
    for fitted in (advice.fitted(x, "run") for x in ends):
        assert "zw." not in fitted and "max_steps," not in fitted.replace("--max-steps", ""), fitted


def test_text_on_the_terminal_is_escaped_and_otherwise_kept():
    assert escaped("φ = 1\n\tq̇") == "φ = 1\n\tq̇"
    assert escaped("\x1b[31m\x9b\u202e\ud800\r") == r"\x1b[31m\x9b\u202e\ud800\r"
    assert escaped("a\nb", lines=False) == r"a\nb"


def test_a_run_that_takes_too_many_steps_names_the_option(tmp_path):
    from tests.cli.command_line import PENDULUM, write

    path = write(tmp_path, PENDULUM)
    answer = zwang("run", path, "--max-steps", "3", "--no-report", "--out", tmp_path / "out")
    assert answer.code == 3 and "raise --max-steps, loosen --rtol" in answer.err
