"""Drives an unmodified pyngrok against the program in NGROK_PATH; prints one line per step and ends with 0 if all worked."""

import os
import sys
import urllib.request

from pyngrok import conf, ngrok
from pyngrok.exception import PyngrokNgrokError, PyngrokNgrokHTTPError

program, config_path, port, token = sys.argv[1:5]
config = conf.PyngrokConfig(ngrok_path=program, config_path=config_path)
conf.set_default(config)
from importlib.metadata import version

major = int(version("pyngrok").split(".")[0])


def check(name, condition):
    print(("ok " if condition else "FAILED ") + name, flush=True)
    if not condition:
        sys.exit(1)


def visit(url, path):
    local = os.environ["HTTP_PORT"]
    host = url.split("://")[1]
    request = urllib.request.Request(f"http://127.0.0.1:{local}{path}", headers={"Host": host})
    with urllib.request.urlopen(request, timeout=10) as response:
        return response.status


check("version", ngrok.get_ngrok_version().ngrok_version if hasattr(ngrok, "get_ngrok_version") else True)
ngrok.set_auth_token(token)
check("authtoken in the file", token in open(config_path).read())

options = {"url": "http://"} if major >= 9 else {"schemes": ["http"]}
tunnel = ngrok.connect(port, "http", **options)
check("connect " + tunnel.public_url, tunnel.public_url.startswith("http://"))
check("visit", visit(tunnel.public_url, "/hello") == 200)
tunnel.refresh_metrics()
check("metrics", tunnel.metrics["http"]["count"] == 1)
listing = ngrok.get_tunnels() if hasattr(ngrok, "get_tunnels") else ngrok.get_endpoints()
check("list", [each.public_url for each in listing] == [tunnel.public_url])

from pyngrok import agent  # noqa: E402

check("status", agent.get_agent_status().status == "online")
requests = agent.get_requests()
check("requests", len(requests) == 1)
agent.replay_request(requests[0].id)
check("replay", len(agent.get_requests()) == 2)
agent.delete_requests()
check("delete requests", len(agent.get_requests()) == 0)

tcp = ngrok.connect("22", "tcp")
check("tcp " + tcp.public_url, tcp.public_url.startswith("tcp://"))
try:
    ngrok.connect(port, "ftp", **({"url": "ftp://"} if major >= 9 else {}))
    check("a wrong protocol is refused", False)
except (PyngrokNgrokHTTPError, ValueError) as error:
    check("a wrong protocol is refused", "proto" in str(error).lower())
ngrok.disconnect(tunnel.public_url)
ngrok.disconnect(tcp.public_url)
listing = ngrok.get_tunnels() if hasattr(ngrok, "get_tunnels") else ngrok.get_endpoints()
check("disconnect", listing == [])
ngrok.kill()

wrong = conf.PyngrokConfig(ngrok_path=program, config_path=config_path, auth_token="x" * 49)
try:
    ngrok.connect(port, "http", pyngrok_config=wrong)
    check("a wrong authtoken is refused", False)
except PyngrokNgrokError as error:
    check("a wrong authtoken is refused", "ERR_NGROK_10" in str(error) + str(error.ngrok_error))
ngrok.kill(wrong)
