"""Drives httpx over HTTP/2 through a tunnel; prints a line for each step."""

import asyncio
import ssl
import sys

import httpx

BASE, AUTHORITY = sys.argv[1:3]


def check(step, ok, detail=""):
    if not ok:
        raise SystemExit(f"{step}: {detail}")
    print(step)


async def main():
    context = ssl.create_default_context(cafile=AUTHORITY)
    async with httpx.AsyncClient(http1=False, http2=True, verify=context, base_url=BASE, timeout=60) as client:
        answer = await client.get("/hello")
        check("GET", answer.http_version == "HTTP/2" and answer.text == "hello", answer)

        answers = await asyncio.gather(*(client.get("/hello") for _ in range(200)))
        check("200 requests at once", all(each.text == "hello" for each in answers))

        sent = b"0123456789abcdef" * 65_536
        answer = await client.post("/echo", content=sent)
        check("POST of 1 MiB with a length", answer.content == sent, answer)

        async def parts():
            for at in range(0, len(sent), 50_000):
                yield sent[at : at + 50_000]

        answer = await client.post("/echo", content=parts())
        check("POST of 1 MiB without a length", answer.content == sent, answer)

        answer = await client.get("/large")
        check("GET of 10 MiB", len(answer.content) == 10 << 20, answer)

        answer = await client.head("/large")
        check("HEAD", answer.headers["content-length"] == str(10 << 20) and answer.content == b"", answer)

        many = {f"x-field-{at}": "v" * 100 for at in range(60)}
        answer = await client.get("/fields", headers=many)
        check("60 fields both ways", answer.headers["x-seen"] == "60" and len(answer.headers["x-back-59"]) == 100, answer)

        async with client.stream("GET", "/large") as begun:
            async for part in begun.aiter_bytes(100_000):
                check("begins a download", len(part) > 0)
                break
        answer = await client.get("/hello")
        check("requests after a cancelled download", answer.text == "hello", answer)


asyncio.run(main())
