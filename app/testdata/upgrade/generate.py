#!/usr/bin/env python3
"""Writes the dumps that TestEveryStoredLayoutIsReadAndContinued upgrades.

For each commit below, which changed the layout of something stored, the script builds the
command, lets it work on a SQLite file and on a PostgreSQL database until there is a row of
each kind, kills it, and writes the rows as INSERT statements. The first line of a dump
names the commit and the version of the tables.

Usage: generate.py [COMMIT...]   (in a clone with its history; PostgreSQL is installed)
"""
import base64, hashlib, json, os, pathlib, re, signal, sqlite3, subprocess, sys, tempfile, time, urllib.parse, urllib.request

# What each commit had, besides turns and webhooks: the mark up to which it reads config.yaml.
COMMITS = {
    "a464f6e3": "# revisions",  # 21 November
    "2dad3d1f": "# revisions",  # 23 November, after turns moved to package service
    "8fd86752": "# workflows",  # 24 November, with revisions
    "a001648c": "",  # 24 November, with workflows, tenants and tools of turns
    "8da2838f": "",  # 27 November
    "1cb74a80": "",  # 28 November, with events of delegates and current agents
    "6b4e2024": "",  # 29 November, with ratings; and with turns of hosted providers, see hosted.yaml
    "5f927cb4": "",  # 29 November, with requests to models, and with a held overlay, see extra.yaml
}
HOSTED = RATED = {"6b4e2024", "5f927cb4"}
EXTRA = {"5f927cb4"}
LOCAL, ADMIN = "ark_local-local-local-local", "ark_admin-admin-admin-admin"
SECRET = "desk-secret-desk-secret"
HERE = pathlib.Path(__file__).resolve().parent
ADDRESS = "127.0.0.1:18181"
PGBIN = sorted(pathlib.Path("/usr/lib/postgresql").glob("*/bin"))[-1]


def build(commit, work):
    binary = pathlib.Path(os.environ.get("BINARIES", work)) / commit
    if not binary.exists():
        tree = work / f"tree-{commit}"
        subprocess.run(["git", "-C", HERE, "worktree", "add", "--detach", tree, commit], check=True)
        subprocess.run(["go", "build", "-tags=grpcnotrace", "-o", binary, "./cmd/runtime"], cwd=tree, check=True)
        subprocess.run(["git", "-C", HERE, "worktree", "remove", "--force", tree], check=True)
    return binary


def build_provider(work):
    """Builds the program that hosted.yaml names: a test binary that can serve a provider."""
    subprocess.run(["go", "test", "-c", "-o", work / "provider", "./backend/provider"], cwd=HERE.parents[2], check=True)
    return work / "provider"


def call(method, path, body=None, key=LOCAL, **headers):
    data = json.dumps(body).encode() if body is not None else None
    headers = {"Content-Type": "application/json", "Authorization": "Bearer " + key, **headers}
    request = urllib.request.Request(f"http://{ADDRESS}{path}", data, headers, method=method)
    with urllib.request.urlopen(request, timeout=20) as answer:
        return json.load(answer)


def until(ready):
    for _ in range(200):
        try:
            if ready():
                return
        except OSError:
            pass
        time.sleep(0.1)
    raise SystemExit("it does not get ready")


def say(session, text, **more):
    message = {"role": "user", "parts": [{"type": "text", "text": text}]}
    return call("POST", "/runtime/v1/turns", {"session_id": session, "input": [message], **more}, **{"Idempotency-Key": text})["id"]


def revoke():
    """Gets an access token and revokes it."""

    def post(path, **form):
        form = urllib.parse.urlencode({"client_id": "desk", "client_secret": SECRET, **form}).encode()
        with urllib.request.urlopen(f"http://{ADDRESS}/api/oauth/{path}", form, timeout=20) as answer:
            return json.load(answer)

    post("revoke", token=post("token", grant_type="client_credentials")["access_token"])


def settings(revisions):
    """Returns the part of the configuration that only the server reads."""
    keys = [{"id": "local", "key": LOCAL, "tenant": "local"}]
    if revisions:
        keys.append({"id": "admin", "key": ADMIN, "tenant": "local", "scopes": ["config:read", "config:write"]})
    client = {"id": "desk", "secret_hash": "sha256:" + hashlib.sha256(SECRET.encode()).hexdigest(), "tenant": "local", "scopes": ["a2a:invoke"]}
    key = base64.b64encode(b"0123456789abcdef0123456789abcdef").decode()
    return {"listen": ADDRESS, "encryption_key": key, "keys": keys, "oauth": {"clients": [client]}}


def change_tenant():
    """Makes what tenants have: variables, an overlay, a schedule, a trigger, and tools of a turn."""
    call("PUT", "/runtime/v1/tenants/local/variables/GREETING", {"value": "hello"}, ADMIN)
    call("PUT", "/runtime/v1/tenants/local/variables/HOOK", {"value": "s3cret-s3cret"}, ADMIN)
    own = {"events": [{"type": "other"}], "steps": [{"id": "ask", "agent": {"agent": "clerk", "prompt": "x"}}]}
    overlay = {"version": 1, "patches": {"agents": {"clerk": {"system_prompt": "Overlaid."}}}, "workflows": {"own": own}}
    call("POST", "/runtime/v1/tenants/local/revisions", {"document": overlay}, ADMIN, **{"If-Match": '"none"'})
    target = {"agent": {"agent": "clerk", "prompt": "x"}}
    call("POST", "/workflow/schedules", {"id": "mine", "cron": "@yearly", "target": target})
    call("POST", "/workflow/event-triggers", {"id": "seen", "match": {"type": "never"}, "target": target})
    far = {"kind": "mcp", "name": "far", "url": "https://mcp.invalid/x", "headers": {"Authorization": "Bearer s3cret"}}
    call("POST", "/api/v1/workspaces/local/agent-runs", {"systemPrompt": "Answer.", "prompt": "slow", "tools": [far]})


def hold_overlay():
    """Publishes a base over which the overlay of another tenant does not resolve."""
    overlay = {"version": 1, "patches": {"agents": {"extra": {"system_prompt": "Held."}}}}
    call("POST", "/runtime/v1/tenants/beta/revisions", {"document": overlay}, ADMIN, **{"If-Match": '"none"'})
    base = call("GET", "/runtime/v1/revisions", key=ADMIN)["revisions"][0]["hash"]
    call("DELETE", "/runtime/v1/agents/extra?tenants=except-broken", None, ADMIN, **{"If-Match": f'"{base}"'})


def status(turn):
    return call("GET", f"/runtime/v1/turns/{turn}")["status"]


def host_turns():
    """Makes a finished session and a waiting turn of a hosted provider."""
    session = call("POST", "/runtime/v1/sessions", {"agent_id": "hosted", "labels": {"kind": "hosted"}})["id"]
    turn = say(session, "kept elsewhere")
    until(lambda: status(turn) == "succeeded")
    waits = call("POST", "/runtime/v1/sessions", {"agent_id": "hosted", "labels": {"kind": "hosted"}})["id"]
    turn = say(waits, "call pay")
    until(lambda: status(turn) == "waiting")


def work_on(binary, mark, directory, store, provider, rates, extra):
    """Lets a command fill a store, and kills it while a turn runs."""
    config = (HERE / "config.yaml").read_text()
    config = config[: config.index(mark)] if mark else config
    server = settings("# revisions" in config)
    (directory / "config.yaml").write_text(config + f"store: {json.dumps(store)}\nserver: {json.dumps(server)}\n")
    (directory / "script.yaml").write_text((HERE / "script.yaml").read_text())
    files = ["config.yaml"]
    if provider:
        (directory / "hosted.yaml").write_text((HERE / "hosted.yaml").read_text())
        files.append("hosted.yaml")
    if extra:
        (directory / "extra.yaml").write_text((HERE / "extra.yaml").read_text())
        files.append("extra.yaml")
    environment = {**os.environ, "PEER_URL": f"http://{ADDRESS}", "PEER_KEY": LOCAL, "PROVIDER": str(provider), "PROVIDER_MODE": "resuming"}
    subprocess.run([binary, "migrate", "config.yaml"], cwd=directory, env=environment, check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen([binary, "serve", *files], cwd=directory, env=environment, stderr=subprocess.DEVNULL)
    try:
        until(lambda: call("GET", "/runtime/v1/sessions") is not None)
        talk = call("POST", "/runtime/v1/sessions", {"agent_id": "clerk", "labels": {"kind": "talk"}})["id"]
        for text in ("hello", "big"):
            turn = say(talk, text)
            until(lambda: status(turn) == "succeeded")
        if rates:
            call("POST", f"/runtime/v1/turns/{turn}/feedback", {"name": "helpful", "score": 0.5, "label": "so-so", "comment": "Too long."})
        waits = call("POST", "/runtime/v1/sessions", {"agent_id": "clerk", "labels": {"kind": "waits"}})["id"]
        turn = say(waits, "pay")
        until(lambda: status(turn) == "waiting")
        say(waits, "after it")  # pending behind it
        peer = call("POST", "/runtime/v1/sessions", {"agent_id": "far", "labels": {"kind": "peer"}})["id"]
        turn = say(peer, "pay far")
        until(lambda: status(turn) == "waiting")
        revoke()
        message = {"messageId": "m", "role": "ROLE_USER", "parts": [{"text": "hello"}]}
        push = {"url": "https://receiver.invalid/hook", "token": "t"}
        call("POST", "/a2a/clerk/message:send", {"message": message, "configuration": {"taskPushNotificationConfig": push}}, **{"A2A-Version": "1.0"})
        if "workflows:" in config:
            call("POST", "/workflow/events", {"type": "bill", "source": "test", "id": "1", "data": {"say": "pay"}})
            until(lambda: call("GET", "/workflow/runs")["items"][0]["status"] == "waiting")
        if "tenants:" in config:
            change_tenant()
        if extra:
            hold_overlay()
        if provider:
            host_turns()
        slow = call("POST", "/runtime/v1/sessions", {"agent_id": "clerk", "labels": {"kind": "slow"}})["id"]
        turn = say(slow, "slow")
        until(lambda: status(turn) == "running")
    finally:
        server.send_signal(signal.SIGKILL)
        server.wait()


def shorten(text, repeat):
    """Returns SQL with calls in place of long rows of x."""
    return re.sub("x{1000,}", lambda row: "'||" + repeat(len(row[0])) + "||'", text)


def quote(value):
    if value is None:
        return "NULL"
    if isinstance(value, bytes):
        try:
            return f"CAST({quote(value.decode())} AS BLOB)"
        except UnicodeDecodeError:
            return f"X'{value.hex()}'"
    return str(value) if isinstance(value, (int, float)) else "'" + value.replace("'", "''").replace("\0", "'||char(0)||'") + "'"


def dump_sqlite(path):
    db = sqlite3.connect(path)
    version = db.execute("SELECT max(version_id) FROM agentruntime_migrations WHERE is_applied").fetchone()[0]
    lines = []
    for (table,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid").fetchall():
        if table.startswith("sqlite_") or table == "agentruntime_migrations":
            continue
        rows = db.execute(f"SELECT * FROM {table} ORDER BY 1")
        lines += [f"INSERT INTO {table} VALUES ({', '.join(map(quote, row))});" for row in rows]
    lines = [shorten(line, lambda n: f"replace(printf('%{n}s', ''), ' ', 'x')") for line in lines]
    return version, lines


def as_postgres(*command, **more):
    return subprocess.run(["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *map(str, command)], check=True, text=True, cwd="/", **more)


def readable(match):
    """Returns bytes that are text as such."""
    try:
        return f"convert_to({quote(bytes.fromhex(match[1]).decode())}, 'UTF8')"
    except UnicodeDecodeError:
        return match[0]


def dump_postgres(socket, name):
    query = "SELECT max(version_id) FROM agentruntime_migrations WHERE is_applied"
    version = as_postgres(PGBIN / "psql", "-h", socket, "-Atc", query, name, capture_output=True).stdout.strip()
    text = as_postgres(PGBIN / "pg_dump", "-h", socket, "--data-only", "--inserts", "--exclude-table=agentruntime_migrations*",
                       "--exclude-table=river_[^j]*", name, capture_output=True).stdout
    lines = [line for line in text.split("\n") if line and not line.startswith(("--", "SET ", "SELECT pg_catalog.set_config", "\\"))]
    lines = [re.sub(r"'\\x([0-9a-f]*)'", readable, line) for line in lines]
    return version, [shorten(line, lambda n: f"repeat('x', {n})") for line in lines]


def main():
    with tempfile.TemporaryDirectory() as name:
        work = pathlib.Path(name)
        work.chmod(0o755)
        cluster = work / "cluster"
        cluster.mkdir()
        subprocess.run(["chown", "postgres", cluster], check=True)
        as_postgres(PGBIN / "initdb", "-D", cluster / "data", "--auth=trust", "-E", "UTF8", stdout=subprocess.DEVNULL)
        options = f"-c listen_addresses= -c unix_socket_directories={cluster}"
        as_postgres(PGBIN / "pg_ctl", "-w", "-D", cluster / "data", "-o", options, "-l", cluster / "log", "start", stdout=subprocess.DEVNULL)
        try:
            for commit in sys.argv[1:] or COMMITS:
                binary = build(commit, work)
                provider = build_provider(work) if commit in HOSTED else None
                for kind in ("sqlite", "postgres"):
                    directory = work / f"{commit}-{kind}"
                    directory.mkdir()
                    if kind == "sqlite":
                        work_on(binary, COMMITS[commit], directory, {"driver": "sqlite", "dsn": "runtime.db"}, provider, commit in RATED, commit in EXTRA)
                        version, lines = dump_sqlite(directory / "runtime.db")
                    else:
                        as_postgres(PGBIN / "createdb", "-h", cluster, f"d{commit}")
                        work_on(binary, COMMITS[commit], directory, {"driver": "postgres", "dsn": f"postgres://postgres@/d{commit}?host={cluster}"}, provider, commit in RATED, commit in EXTRA)
                        version, lines = dump_postgres(cluster, f"d{commit}")
                    (HERE / f"{commit}-{kind}.sql").write_text("\n".join([f"-- commit {commit} version {version}", *lines]) + "\n")
                    print(commit, kind, version, len(lines))
        finally:
            as_postgres(PGBIN / "pg_ctl", "-D", cluster / "data", "-m", "immediate", "stop", stdout=subprocess.DEVNULL)


main()
