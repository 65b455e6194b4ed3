"""The chat page in a browser, wide and narrow, light and dark, on the real Dynamo frontend with scripted engines.

What a model may write is not in its hands: the stand-in of test_chat_server.py writes HTML.
"""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, expect

from embedded import endpoints
from ops.web.chat_server import ChatServer, Conversation
from ops.web.opening import serving
from tests.browser import VIEWS, Seen, look
from tests.live import DISAGGREGATED, MODEL, DataPlane
from tests.ops.web.conftest import Endpoint
from tests.waiting import PATIENCE

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("live-verify")]


@pytest.fixture
def server(plane: DataPlane) -> Iterator[ChatServer]:
    about = {"stack": "dev", "graph": DISAGGREGATED.name, "model": MODEL, "simulated": endpoints.SIMULATED}
    with serving(Conversation(url=plane.url(DISAGGREGATED), **about)) as made:
        yield made


@pytest.fixture
def scripted(endpoint: Endpoint) -> Iterator[ChatServer]:
    url = f"http://127.0.0.1:{endpoint.server_port}"
    with serving(Conversation(stack="s", graph="g", model="m", url=url)) as made:
        yield made


def say(seen: Seen, text: str) -> None:
    seen.page.get_by_label("Your message").fill(text)
    seen.page.get_by_role("button", name="Send").click()


@pytest.mark.parametrize("width, scheme", VIEWS)
def test_a_conversation(browser: Browser, server: ChatServer, width: int, scheme: str) -> None:
    with look(browser, server.url, width, scheme) as seen:
        page = seen.page
        expect(page.get_by_role("heading")).to_have_text(MODEL)
        expect(page.get_by_text(f"Simulated: {endpoints.SIMULATED}")).to_be_visible()
        page.get_by_label("Reasoning effort").select_option("high")
        say(seen, "Are you there?\n" + "x" * 300)
        expect(page.locator(".figures")).to_contain_text("tokens/s", timeout=PATIENCE * 1000)
        expect(page.locator("details summary")).to_have_text("Reasoning")
        assert "The user asks" in page.locator(".reasoning").text_content()  # type: ignore[operator]
        expect(page.locator(".assistant > .text")).to_contain_text("[simulated engine] You asked: ")
        say(seen, "And again?")
        expect(page.locator(".figures")).to_have_count(2, timeout=PATIENCE * 1000)
        expect(page.get_by_role("button", name="Send")).to_be_enabled()
        assert (seen.said, seen.sideways) == ([], 0)
        assert all(address.startswith(server.url) for address in seen.asked)


def test_what_a_model_writes_is_text(browser: Browser, scripted: ChatServer) -> None:
    with look(browser, scripted.url) as seen:
        say(seen, "<img src=x onerror=alert(1)>")
        expect(seen.page.locator(".assistant > .text")).to_have_text("<b>Hello</b>")
        expect(seen.page.locator(".user")).to_have_text("<img src=x onerror=alert(1)>")
        assert seen.page.locator("main b, main img").count() == 0
        expect(seen.page.locator(".figures")).to_contain_text("7 tokens")
        assert seen.said == []


def test_stop_ends_the_answer_and_the_next_question_is_taken(
    browser: Browser, scripted: ChatServer, endpoint: Endpoint
) -> None:
    endpoint.go_on.clear()
    with look(browser, scripted.url) as seen:
        say(seen, "First")
        expect(seen.page.locator(".reasoning")).to_contain_text("…")
        seen.page.get_by_role("button", name="Stop").click()
        expect(seen.page.locator(".figures")).to_contain_text("stopped")
        assert endpoint.cut_off.wait(PATIENCE)
        endpoint.go_on.set()
        say(seen, "Second")
        expect(seen.page.locator(".assistant > .text")).to_have_text("<b>Hello</b>")
        assert [each["content"] for each in endpoint.asked[-1]["messages"]] == ["First", "Second"]
        seen.page.get_by_role("button", name="New chat").click()
        expect(seen.page.locator("article")).to_have_count(0)
        assert seen.said == []


def test_an_answer_that_breaks_off_is_told(
    browser: Browser, scripted: ChatServer, endpoint: Endpoint
) -> None:
    endpoint.broken = True
    with look(browser, scripted.url) as seen:
        say(seen, "Hi")
        expect(seen.page.locator(".error")).to_contain_text("broke its answer off")
        expect(seen.page.get_by_role("button", name="Send")).to_be_enabled()
        assert seen.said == []
