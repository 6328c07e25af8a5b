"""Credentials in texts: tokens by their published patterns, keys, and files for passwords."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from commandline import run
from found_credentials import find_credential
from git_space import git, needs_git
from hypothesis import given
from hypothesis import strategies as st

from promptforge.sources.credentials import WordFinder, find_credentials, known_credentials
from promptforge.sources.secret_scan import SecretScan

pytestmark = needs_git


SECRETS = {
    # In two parts, so that no scanner takes this file for the place of one.
    "a private key": "-----BEGIN RSA "
    + "PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n5Ux8zQ==\n",
    "an AWS access key": "aws_access_key_id = AKIA" + "I7QXSU2JTPNN4B6M",
    "a GitHub token": "token: ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a",
    "a GitLab token": "glpat-" + "Zx9_kLm3nPq7RsTuVw2y",
    "a Slack token": "xoxb-" + "123456789012-abcdefGHIJKL",
    "a SendGrid key": "SG."
    + "Zx9_kLm3nPq7RsTuVw2yAb."
    + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789abcdefg",
    "an Azure storage key": "AccountKey=" + "AbCdEfGhIjKlMnOpQrStUvWxYz+/" * 3 + "0A==",
    "a Telegram token": "1234567890:AA" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456",
    "a Google API key": "key=AIza" + "SyD4e8fGhIjKlMnOpQrStUvWxYz01234567"[:35],
    "a Stripe key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
    "an Anthropic key": "sk-ant-" + "api03-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "an OpenAI key": "sk-proj-" + "AbCdEfGhIjKlMnOpQrSt" + "T3BlbkFJ" + "AbCdEfGhIjKlMnOpQrSt",
    "a Hugging Face token": "hf_" + "AbCdEfGhIjKlMnOpQrStUvWxYzAbCdEfGh",
    "an npm token": "//registry/:_authToken=npm_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789",
    "a PyPI token": "pypi-AgEI" + "cHlwaS5vcmcCJGFiY2RlZmdoLWlqa2wtbW5vcC1xcnN0LXV2d3h5ejAxMjM",
    "an age key": "AGE-SECRET-KEY-1"
    + "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L"
    + "QPZRY9X8GF2TVDW0S3JN54KHCE",
    "an AWS secret key": "aws_secret_access_key = " + "AbCdEfGhIjKlMnOpQr/tUvWxYz+123456789abcd",
    "an Amazon Bedrock key": "ABSK" + "AbCdEfGhIjKlMnOpQrStUvWxYz+/" * 4,
    "a Slack webhook": "https://hooks.slack.com/services/"
    + "T0ABCDEFG/B0ABCDEFG/AbCdEfGhIjKlMnOpQrStUvWx",
    "a Google OAuth secret": "GOCSPX-" + "AbCdEfGhIjKlMnOpQrStUvWxYz01",
    "a Google access token": "ya29." + "a0AbCdEfGhIjKlMnOpQrStUvWxYz01234567",
    "a Stripe webhook secret": "whsec_" + "AbCdEfGhIjKlMnOpQrStUvWxYz+12345",
    "an Azure access key": "SharedAccessKey=" + "AbCdEfGhIjKlMnOpQrStUvWxYz+/0123456789abcde" + "=",
    "an Azure client secret": "x = " + "a1b8Q~" + "AbCdEfGhIjKlMnOpQrStUvWxYz.~0123",
    "an Azure DevOps token": "AbCdEfGhIjKlMnOpQrS" * 4 + "AZDO" + "1a2B",
    "a Discord webhook": "https://discord.com/api/webhooks/123456789012345678/"
    + "aB3-dE5_gH7jK9" * 5,
    "a Teams webhook": "https://x.office.com/a@b/IncomingWebhook/" + "0a1b2c3d4e5f6789" * 2,
    "a signature in an address of Azure": "https://a.logic.azure.com/x?sp=1&sig="
    + "aB3-dE5_gH7jK9" * 3,
    "a token of an API": "dop_v1_" + "0a1b2c3d4e5f6789" * 4,
    "a password in an address": "postgres://bob:" + "ZeA5jbsBXA3hcM@db.acme.io/x",
}


@pytest.mark.parametrize(
    "written",
    [
        "{0}\n{1}", "  {0}\n  {1}", "# {0}\n# {1}", "+{0}\n+{1}", "-{0}\n-{1}", '"{0}\\n{1}\\n"',
        "{0}\r\nProc-Type: 4,ENCRYPTED\r\nDEK-Info: AES-128-CBC,0F\r\n\r\n{1}",
        "{0}\nVersion: 1\nComment: a: b: c\n\n{1}",
        '"{0}\\n" +\n    "{1}\\n" +', "'{0}',\n'{1}',", 'x = "{{\\"k\\": \\"{0}\\\\n{1}\\\\n\\"}}"',
    ],
)  # fmt: skip
def test_a_key_is_found_however_its_lines_begin(written: str) -> None:
    begin = "-----BEGIN " + "PRIVATE KEY-----"
    text = written.format(begin, "MIIEowIBAAKCAQEA0Z3VS5JJcds3xfn")
    assert find_credential(f"a\n{text}\n") == "a private key"


def test_headers_of_a_key_are_read_in_one_pass() -> None:
    assert find_credential("-----BEGIN PRIVATE KEY-----\n" + "a: " * 100_000) is None


PASSWORD, LONG = "Tr0ub4" + "dor9xQ", "aZ4kQ9wE2rT7yU1i" + "O5pL8sD3fG6hJ0xC"
FILES = {
    "netrc": "machine api.acme.io login ada password {0}", ".authinfo": "machine a login b password {0} port 587",
    ".vault_pass": "{0}", "ansible/vault-password-file": "{0}", "api_key.txt": "{1}", "auth.txt": "ada\n{0}",
    "config/master.key": "{1}", ".vault-token": "hvs.{1}", "ppp/chap-secrets": "ada * {0} *",
    "credentials.csv": "User name,Password,Access key ID\nada,{0},X", ".passwd-s3fs": "ABCDEFGH:{1}",
    "hub": "github.com:\n- user: ada\n  oauth_token: {1}", "jaas.conf": 'username="ada"\n  password="{0}";',
    "user.pgpass": "db.acme.io:5432:app:ada:{0}", "pgpass.conf": "*:*:*:ada:{0}",
    "users.htpasswd": "ada:$2y$10$x{0}", ".htdigest": "ada:realm:9f86d081884c7d659a2feaa0c55ad015",
    "my.cnf": "[client]\npassword={0}", ".pg_service.conf": "[app]\npassword={0}",
    "k8s/config": "kind: Config\nusers:\n- user:\n    token: {1}",
    "docker/config.json": '{{"auths": {{"r.acme.io": {{"auth": "YWRh{1}=="}}}}}}',
    "composer/auth.json": '{{"github-oauth": {{"github.com": "{1}"}}}}', "poetry/auth.toml": 'password = "{0}"',
    ".yarnrc": '"//r.acme.io/:_authToken" "{1}"', ".yarnrc.yml": 'npmAuthIdent: "ada:{0}"',
    "bunfig.toml": '[install]\ntoken = "{1}"', ".terraformrc": 'credentials "a.io" {{\n  token = "{1}"\n}}',
    "gcloud/adc.json": '{{"client_secret": "d-{0}", "refresh_token": "1//0{1}"}}',
    "aws/credentials": "[default]\naws_session_token = {1}", "rclone.conf": "[sftp]\npass = {0}",
    "rclone/x.conf": 'token = {{"access_token":"{1}"}}', ".cargo/credentials.toml": 'token = "{1}"',
    ".gem/credentials": ":rubygems_api_key: {1}", ".bundle/config": 'BUNDLE_GEMS__ACME__IO: "ada:{0}"',
    "nuget.config": '<add key="ClearTextPassword" value="{0}" />',
    "NuGet.Config": '<apikeys>\n<add key="https://www.nuget.org" value="{1}" />\n</apikeys>',
    "settings-security.xml": "<master>{{{0}=}}</master>", "tomcat-users.xml": '<user username="ada" password="{0}"/>',
    "hibernate.cfg.xml": '<property name="hibernate.connection.password">{0}</property>',
    "local.xml": "<password><![CDATA[{0}]]></password>", "filezilla.xml": '<Pass encoding="base64">{1}</Pass>',
    "key.properties": "storePassword={0}", ".sbt/.credentials": "realm=x\npassword={0}",
    ".Renviron": "GITHUB_PAT={1}", ".envrc": "export SECRET={0}", ".dev.vars": "SALT={1}", "x/.env": "DB={0}",
    "secrets.yml": "production:\n  db: {0}", "client_secret.json": '{{"web": {{"client_secret": "{0}"}}}}',
    "group_vars/all.yml": "ansible_become_pass: {0}", "inventory.ini": "web1 ansible_ssh_pass={0}",
    "configuration.php": "public $password = '{0}';", "settings.php": "['password' => '{0}'];",
    "local_settings.py": "X = {{'PASSWORD': '{0}'}}", "env.sh": 'export OS_PASSWORD="{0}"',
    "Dockerfile": "FROM x\nENV API_TOKEN {1}", "ta.key": "BEGIN OpenVPN Static key V1-----\n" + "9f86d08188" * 4,
    "ipsec.secrets": 'ada : PSK "{0}"', "wpa_supplicant.conf": 'psk="{0}"', ".msmtprc": "user ada\npassword {0}",
    "sasl_passwd": "[smtp.acme.io]:587 ada:{0}", "redis.conf": "requirepass {0}", "users.acl": "user ada on >{0} ~*",
    "grafana.ini": "admin_password = {0}", "values-prod.yaml": "auth:\n  password: {0}",
    ".curlrc": 'user = "ada:{0}"', "kaggle.json": '{{"username": "ada", "key": "{1}"}}',
    "main.tf": 'variable "db_password" {{\n  type    = string\n  default = "Super{0}"\n}}',
    "vars.tf": 'variable "db_password" {{ default = "{0}" }}', "task.json": '{{"name": "DB_PASSWORD", "value": "{0}"}}',
    "pod.yaml": "env:\n- name: DB_PASSWORD\n  value: {0}", "stack.yaml": "DBPassword:\n  Type: String\n  Default: {0}",
    "config/database.yml": "a:\n  password: <%= ENV['DB_PW'] || '{0}' %>", "application.yml": "password: ${{DB_PW:{0}}}",
    "kinds.yaml": "apiVersion: v1\nkind: Secret\ndata:\n  db: {0}==", ".bash_history": "ls\nmysql -u root -p{0} app",
    "deploy.sh": "curl -u ada:{0} https://api.acme.io", "hook.sh": 'curl -H "Authorization: Bearer {1}" x',
    "Makefile": "DB_PASSWORD ?= {0}", "run.bat": "set DB_PASSWORD={0}", "app.log": "login: password={0} ok",
    "Info.plist": "<key>APIToken</key>\n<string>{1}</string>", "set.ps1": '$env:DB_PASSWORD = "{0}"',
    "unattend.xml": "<AdministratorPassword><Value>{0}</Value>",
    "a.dockerfile": "RUN sshpass -p {0} ssh x && docker login -u ada -p {0} r.acme.io",
    "azure.yaml": "azure_openai_key: {1}\nsubscription_key: {1}",
    "deploy/secret.yaml": "apiVersion: v1\nkind: Secret\nstringData:\n  y: {0}",
    "deploy/db.yaml": "# Database\napiVersion: v1\nkind: Secret\ndata:\n  dsn: {0}",
    "helm/db.yaml": "{{{{- if .Values.x }}}}\napiVersion: v1\nkind: Secret\ndata:\n  dsn: {0}\n{{{{- end }}}}",
}  # fmt: skip
"""Path → text with a password or a long token."""


@pytest.mark.parametrize("place", FILES)
def test_a_password_in_any_form_of_settings_is_masked_or_its_file_left_out(place: str) -> None:
    text = FILES[place].format(PASSWORD, LONG) + "\n"
    for name in (place, f"deploy/{place}"):
        clean = SecretScan().clean(text, name, name) or ""
        assert not [each for each in (PASSWORD, LONG, "9f86d081") if each in clean]


AWS_SECRET = "vyAIZVAgkmOt8Fsw/YBfHe" + "+LMyIeMwlLgHE9bwWH"
IN_ANY_TEXT = {
    "s = Session('AKIA" + "I7QXSU2JTPNN4B6M',\n    '{0}')": AWS_SECRET,
    "ada,AKIA" + "I7QXSU2JTPNN4B6M,{0}": AWS_SECRET,
    "Authorization: Basic {0}": LONG, "> X-Api-Key: {0}": LONG, "Cookie: a=b; jwt={0}": LONG,
    'h.Set("Authorization", "{0}")': LONG, '-H "X-Api-Key: {0}"': LONG, "'X-Auth-Token': '{0}'": LONG,
    '{{"name": "Authorization", "value": "Bearer {0}"}}': LONG, "Authorization:\n      - Basic {0}": LONG,
    "Cookie: lang=en; sessionid={0}; a=b": LONG, "Set-Cookie: JSESSIONID={0}; Path=/": LONG,
    ".acme.io\tTRUE\t/\tTRUE\t0\tsid\t{0}": LONG,
    "CREATE USER ada IDENTIFIED BY '{0}';": PASSWORD, "alter user ada with password '{0}';": PASSWORD,
    "SET PASSWORD FOR ada = PASSWORD('{0}')": PASSWORD,
    'connect(api_key="{0}")': LONG, "    token = '{0}'\n": LONG, 'os.environ["SECRET_KEY"] = "{0}"': LONG,
    'const apiKey: string = "{0}"': LONG, '"{{\\"client_secret\\": \\"{0}\\"}}"': LONG,
    "<RSAKeyValue><D>{0}</D>": LONG * 2, "{0}": "a1B2c3D4e5F6g7.atlasv1." + LONG * 2,
    "x = '{0}'": "sk-lf-" + "9c177612-f332-126d-bb2b-6997acf10654",
    "key: {0}": "re_" + "a1B2c3D4_" + "a1B2c3D4" * 3, "login {0}": "cio" + "a1B2c3D4" * 4,
    'os.getenv("JWT_SECRET", "{0}")': LONG, "process.env.API_KEY || '{0}'": LONG,
    'password ?? "{0}"': LONG, "secret_key_base = '{0}'": "9f86d081884c7d65" * 8,
    "curl -u {0}:x": "ghs_" + "123456_eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiIxMjM0NSJ9.abcDEF1-_456",
    "E2B={0}": "e2b_" + "9f86d081" * 5, "ci: {0}": "CCIPAT_" + "a1B2c3D4e5F6g7H8i9J0k1_" + "9f86d081" * 5,
    "crm {0}": "pat-na1-" + "9c177612-f332-126d-bb2b-6997acf10654", "cur {0}": "crsr_" + "9f86d081" * 8,
    "sonar -Dx {0}": "squ_" + "9f86d081" * 5, "agent {0}": "glagent-" + "a1B2c3D4" * 5,
    'var apiToken string = "{0}"': LONG, 'acme_key = "{0}"': LONG, "`ACME_KEY={0}`": LONG,
    "get('https://a.io/x?access_token={0}')": "9f86d081884c7d659a2feaa0c55ad015", "-d token={0} x": LONG,
    '<input name="token" value="{0}">': LONG, "see {0}": "acme_" + LONG + "Xy", "x = f('{0}')": "zz-" + LONG + "Xy",
    "key {0}, too": "fw_" + "3Zk9QwE2rT7yU1iO5pL8sD", "E={0}": "rnd_" + LONG[:28], "V: {0}": "pa-" + "Zx9_kLm-nPq7RsTu" * 2 + "aB3dE5gH7jK",
    "use({0})": "acme_live_" + LONG[:20],
    'TOKEN = "{0}"': "acme_" + "9f86d081" * 4, "Authorization: Bearer {0}": "acme-live-" + "9f86d081" * 4,
}  # fmt: skip
"""A line of any program, log or page → the credential in it."""


@pytest.mark.parametrize("line", IN_ANY_TEXT)
def test_a_credential_with_a_form_of_its_own_is_masked_in_any_text(line: str) -> None:
    secret = IN_ANY_TEXT[line]
    clean = SecretScan().clean(f"before\n{line.format(secret)}\nafter\n", "a.py", "a.py")
    assert clean is not None and secret not in clean and "REDACTED" in clean


@pytest.mark.parametrize(
    "text",
    [
        "authorization: x-amz-content-sha256", "Authorization: Bearer imdsv2_session_token",
        "api-key: test-api-key-12345678", "Authorization: Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
        "authorization: OAuth2PasswordBearer1 = None", 'x = {"Authorization": OAuth2PasswordBearer1}',
        "api-key: ApiKeySecurityScheme2", "headers.authorization = buildAuthorizationHeaderV2;",
        "- Authorization - docs/oauth2/authorization.md", "Authorization\n---\n\nSupportsOAuth2Everywhere",
        "Authorization: AWS4-HMAC-SHA256 Credential=...", "Authorization: Bearer YOUR_ACCESS_TOKEN_1",
        "Cookie;var a;authToken=someOtherVariable2;b", "Authorization: Basic Ym9iOm15UGFzc3dvcmQx",
        "Bearer mF_9.B5f-4.1JqM", "token: 'colorNeutralForeground2BrandHover'", "password: 'min8|max32|required'",
        "token: 'color-primary-500-hoverState'", "token: 'CourierNewPSMT12BoldItalic'", 'token="Qwen2TokenizerFast"',
        "the password 'hunter2hunter2' was", "def secret_" + "abcdefghijklmnopqrstu" * 2 + "v(): pass",
        "vpc-fc-" + "0a1b2c3d" * 4 + ".js", "re_abcdefgh_" + "abcdefghijkl" * 2,
        'token = "continue_token_v2_of_pages"', 'publicKeyToken="89845dcd8080cc91"',
        "revert(this.token, 'ERC721OutOfBoundsIndex')", "parse(token, 'YYYY-MM-DDTHH:mm:ss.SSS1Z')",
        "headers.set(secret, 'x-goog-meta-v2-KeyName1')", "auth(password=auth_info[2])",
        "revert(token, 'ERC721NonexistentToken')", 'secret="projects/p1/secrets/my-secret-v1"',
        'token = "settings.AUTH_TOKEN_OF_API_V2"', "password 'changeme1'", "IDENTIFIED BY '${DB_PW_2}'",
        "BasicAuth(username=auth[0], password=auth[1])", "def f(self, username=None, password=None):",
        'token = "test_' + "a" * 20 + "longword" * 3 + '1"', "call_MEiGXuJjJ7wGU4aOT86QuGJS", "pi_3MtwBwLkdIwHu7ix28a3tqPa",
        "pk_live_" + "aZ4kQ9wE2rT7yU1iO5pL8sD3fG6hJ0xC", "a.py,sha256=uqm-K9uohyj1042TH4a9Er2I5o7667DvulcD5gC2fSA,608",
        "forward_UseAllOfForRefsServiceV2OfSomething", "Sec-WebSocket-Key: 'x3JJHMbDL1EzLkh9GBhXDw=='",
        'cache_key = "user_profile_of_v2_and_its_parts_3"', "primary_key='9c177612-f332-126d-bb2b-6997acf10654'",
        "sha256 of AKIA" + "I7QXSU2JTPNN4B6M: " + "0a1b2c3d4e" * 4,
    ],
)  # fmt: skip
def test_names_beside_words_for_secrets_are_none(text: str) -> None:
    found = find_credential(text, "a.py")
    assert found in (None, "an AWS access key")


@pytest.mark.parametrize(
    "unit", ["api-key=", "token='", "password '", "Cookie: sid=", ";a", "AKIA"]
)
def test_patterns_of_any_text_are_tried_in_one_pass(unit: str) -> None:
    find_credential(unit * 20_000)


def test_settings_in_one_word_are_read_once() -> None:
    assert find_credential("server=" * 17_000 + " x", "secrets.yaml") is None
    assert find_credential("token=" + "a1:b2:" * 300 + " x", "secrets.yaml") is not None


def test_a_thousand_heads_of_keys_are_not_read_to_the_end_of_the_text() -> None:
    found = find_credentials("ya29.Private-Lines: 9\n" * 1_500)
    assert len([*found]) == 1_499
    line = "MIIEpAIBAAKCAQEA7d0q1xZ9kJ3vB8sT5uW2yR6nQ4mP+/aZ\n"
    for head in ("-----BEGIN PRIVATE KEY-----\n", "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n"):
        assert len([*find_credentials((head + line) * 2_000)]) == 2_000


@pytest.mark.parametrize("unit", ["password=", "auth=", "token:", "'key': '", "salt,"])
def test_a_name_of_a_secret_looks_no_further_than_a_value_is_long(unit: str) -> None:
    find_credential(unit * 10_000, "Makefile")  # to the end of the text it took a minute


@pytest.mark.parametrize(
    ("place", "text"),
    [
        ("package.json", '{"jsonwebtoken": "^9.0.2", "auth": "file:../auth2", "token": "v1.2.3"}'),
        ("locales/de.json", '{"password": "Passwort", "token": "Ihr Token 2024", "secret": "geheim"}'),
        ("deployment.yaml", "secretName: db-credentials-v1\ntoken: my-token-2\npassword: ${DB_PASSWORD}\n"),
        ("app.toml", 'private_key = "./keys/server1.pem"\ntoken_url = "https://a.io/token2"\n'),
        ("client.py", 'password = "Tr0ub4dor9xQ"\n'), ("notes.md", "password: Tr0ub4dor9xQ\n"),
        ("app.config", '<assemblyIdentity name="A" publicKeyToken="b77a5c561934e089" />'),
        ("secrets.yaml", "existingSecret: tls-of-a\nsecretName: tls-of-b1\nsecretRef: tls-of-c\n"),
        ("values.yaml", "# kind: Secret\na:\n  apiVersion: v1\n  tls: VersionTLS13\n  args: --duration2=2h30\n"),
        ("store.yaml", "apiVersion: v1\nkind: SecretStore\nspec:\n  server: vault-2-of-acme\n"),
        ("tokens.txt", "the quick brown fox jumps over the lazy dog and on it went\nx1\n"),
        ("appsettings.sample.json", '{"x": 1}'), ("conf.sample.yml", "token: aZ4kQ9wE2rT7\n"),
        ("a.txt", "token bucket1rate, auth OAuth2/OIDCv1, salt SHA256-HMACv2\n"),
        ("a.ps1", "$token = Get-Token2Foo\n"), ("check.log", "PASS: gdb.arch/amd64-byte.exp: print 1\n"),
        ("a.1", "the secret \\f5my\\-secret\\fR, PSK, \\s\\-1ECDHE\n"),
        ("netrc.py", "machine a login b password c3cccccc\n"), (".env", "CI=true\nURL=https://a.io/x1\n"),
    ],
)  # fmt: skip
def test_ordinary_files_have_no_credential(place: str, text: str) -> None:
    assert find_credential(text, place) is None


@pytest.mark.parametrize(
    "text",
    [
        "postgres://admin:{}@db.example.com/prod", "redis://:{}@cache:6379/0", "mq://u:{}@localhost", "'mq://u:{}@' + host",
        "mq://{{user}}:{}@{{host}}/x", "smtp://ada@acme.io:{}@smtp.acme.io", '"http://a:{}\\@127.0.0.1"', "u:p@h root:{}@tcp(db:3306)/x",
        "https://bob:{}@github.com/a/b", "jdbc:mysql://db/x?password={}&useSSL=true", "jdbc:postgresql://db/x?user=app&password={}",
        "jdbc:sqlserver://db;user=sa;password={};encrypt=true", "jdbc:oracle:thin:scott/{}@db:1521/x",
        "Server=db;Uid=sa;Pwd={};", "host=db user=app password={} dbname=x", "curl -u ada:{} https://a.io",
    ],
)  # fmt: skip
def test_the_password_of_a_connection_is_masked_alone(text: str) -> None:
    for password in ("s3cretpw99", "p4ssw0rdXYZ", "Passw0rd[24]x", PASSWORD):
        for place in ("a.py", "notes.md"):
            given = text.format(password)
            assert SecretScan().clean(given, place, place) == text.format("REDACTED")


def bytes_of(secret: str) -> list[str]:
    """Return the parts of a sample that nobody may see: its long words with a digit or a capital."""
    words = re.findall(r"[A-Za-z0-9+/_.~-]{12,}", secret.replace("PRIVATE KEY", ""))
    return [word for word in words if re.search("[A-Z0-9]", word) and word != "SharedAccessKey"]


def commit(space: Path) -> None:
    about = ("-c", "user.name=a", "-c", "user.email=a@b.c")
    git(space, *about, "commit", "-qam", "x", "--allow-empty")


@pytest.mark.parametrize("name", SECRETS)
def test_a_credential_is_masked_in_its_place_and_said_once(space: Path, name: str) -> None:
    secret = SECRETS[name]
    (space / "app.py").write_text(f"before\n{secret}\nafter\n")
    (space / "same.md").write_text(f"It is\n{secret}\n")
    commit(space)
    ran = run("render", ".", "--max-tokens", "20000", "--strict", "--lines", "each")
    assert ran.code == 0, ran.err
    (said,) = [line for line in ran.err.splitlines() if "[PF609]" in line]
    assert f"app.py ({name})" in said and f"same.md ({name})" in said
    assert "--no-secret-scan includes all" in said
    is_key = name == "a private key"  # the sample has no end
    assert ("before" in ran.out, "REDACTED" in ran.out) == (not is_key, not is_key)
    if not is_key:
        assert re.search(r"(?m)^3[: |\t]+after$", ran.out)
    assert secret in run("render", ".", "--no-secret-scan", "--max-tokens", "20000").out
    assert secret.split("\n")[0] in run("render", "app.py").out  # named


def split_and_batch(space: Path) -> str:
    """Return what `--split` and `batch` write about a folder."""
    ran = run("render", ".", "--split", "400", "-o", "parts/x.md")
    (space / "requests.jsonl").write_text('{"items": ["."], "id": "a"}\n')
    done = run("batch", "requests.jsonl", "-o", "answers.jsonl", "--jobs", "1")
    written = [path.read_text() for path in [*space.glob("parts/*"), *space.glob("answers*")]]
    assert written, ran.err + done.err
    return "".join(written) + ran.out + ran.err + done.out + done.err


@pytest.mark.slow
def test_no_output_holds_the_bytes_of_a_credential(space: Path) -> None:
    (space / "parts").mkdir()
    for number, secret in enumerate(SECRETS.values()):
        (space / f"app{number}.py").write_text(f"before\n{secret}\nafter\n")
    git(space, "add", ".")
    outputs = [split_and_batch(space)]
    for path in [*space.glob("parts/*"), *space.glob("answers*"), space / "requests.jsonl"]:
        path.unlink()
    for flags in (["."], ["--git-diff"], ["--git-changed"], ["--search", "access key token"]):
        for more in ([], ["--json"], ["--format", "xml"], ["--tree"], ["--query", "before"]):
            if "--search" not in flags or not more:
                ran = run("render", *flags, *more, "--max-tokens", "20000")
                outputs.append(ran.out + ran.err)
    for command in ("explain", "count"):
        ran = run(command, ".", "--json")
        outputs.append(ran.out + ran.err)
    message = "\n".join(["subject", *SECRETS.values()])
    git(space, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qam", message)
    ran = run("render", "--git-log", "3", "--json")
    outputs.append(ran.out + ran.err)
    private = [each for secret in SECRETS.values() for each in bytes_of(secret)]
    assert all("app2.py" in output for output in outputs[:-1]) and "a Stripe key" in outputs[-1]
    for output in outputs:
        assert not [each for each in private if each in output]


@pytest.mark.parametrize(
    ("begin", "rest", "name"),
    [
        ("ghs_", "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEf", "a GitHub token"),
        *(
            (begin, rest, "a token of an API")
            for begin, rest in {
                "hvs.": "CAESIAbCdEfGhIjKlMnOpQrStUvWxYz01",
                "gsk_": "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOp",
                "sk-or-v1-": "0a1b2c3d4e5f6789" * 4,
                "p8e-": "a1b2c3d4" * 4,
                "A3-": "AB3DE5-GH7JK9LM2NP-AB3DE-GH7JK-LM2NP",
                "4b1d": "aZ4kQ9wE2rT7yU1iO5pL8sD3fG6hJ0xCvB4nM7",
                "v1.0-": "0a1b2c3d" * 3 + "-" + "0a1b2c3d4e5f6789" * 9 + "0a",
                "aB3dE5_": "aZ4kQ9wE2rT7yU1iO5pL8sD3fG6hJ_mmk",
                "API-": "AB3DE5GH7JK9LM2NPQR4ST6UVW",
                "sat.": "aZ4kQ9wE2rT7yU1iO5pL8s.aZ4kQ9wE2rT7yU1iO5pL8sD3.aZ4kQ9wE2rT7yU1iO5pL",
                "eyJrIjoi": "aZ4kQ9wE2rT7yU1iO5pL8sD3" * 3 + "==",
                "NRII-": "aZ4kQ9wE2rT7yU1iO5pL8sD3fG6hJ0xC",
                "px-api-": "9c177612-f332-126d-bb2b-6997acf10654",
                "da2-": "a1b2c3d4e5f6g7h8i9j0k1l2m3",
                "hawk.": "aZ4kQ9wE2rT7yU1iO5pL.aZ4kQ9wE2rT7yU1iO5pL",
                "r8_": "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789a",
                "lsv2_pt_": "0a1b2c3d4e5f6789" * 2 + "_0a1b2c3d4e",
                "dckr_pat_": "AbCdEfGhIjKlMnOpQrStUvWxYz0",
                "shpat_": "0a1b2c3d4e5f6789" * 2,
                "PMAK-": "0a1b2c3d4e5f678900112233-" + "0a1b2c3d4e5f67890011223344556677aa",
                "rubygems_": "0a1b2c3d4e5f6789" * 3,
                "sk.": "eyJ1IjoiYWRhIiwiYSI6ImNrAbCdEfGhIjKlMnOpQrStUvWxYz01.AbCdEfGhIjKlMnOpQrStUv",
            }.items()
        ),
        ("github_pat_", "11ABCDEFG0" + "AbCdEfGhIjKl" + "_" + "AbCdEfGhIjKlMnOpQrStUvWxYz0123456789"
         + "AbCdEfGhIjKlMnOpQrStUvW", "a GitHub token"),
        ("glft-", "AbCdEfGhIjKlMnOpQrSt", "a GitLab token"),
        ("ABIA", "Q4J5X6Y7Z2A3B4C5", "an AWS access key"),
        ("gldt-", "AbCdEfGhIjKlMnOpQrSt", "a GitLab token"),
        ("glrt-", "t1_AbCdEfGhIjKlMnOpQrSt", "a GitLab token"),
        ("glpat-", "AbCdEfGhIjKlMnOpQrStUvWxYz0.01.0a1b2c3d4", "a GitLab token"),
        ("ASIA", "Q4J5X6Y7Z2A3B4C5", "an AWS access key"),
        ('"SecretAccessKey": "', 'AbCdEfGhIjKlMnOpQr/tUvWxYz+123456789abcd"', "an AWS secret key"),
        ("xapp-", "1-A0ABCDEFG-1234567890-" + "0a1b2c3d4e5f" * 5, "a Slack token"),
        ("xoxe.xoxp-", "1-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "a Slack token"),
        ("https://hooks.slack.com/triggers/", "T0ABCDEFG/1234567890/AbCdEfGhIjKlMnOpQrStUvWx", "a Slack webhook"),
        ("rk_live_", "4eC39HqLyjWDarjtT1zdp7dc", "a Stripe key"),
        ("sk-ant-", "admin01-AbCdEfGhIjKlMnOpQrStUvWxYz0123456789", "an Anthropic key"),
        ("sk-svcacct-", "AbCdEfGhIjKlMnOpQrSt" + "T3Blbk" + "FJAbCdEfGhIjKlMnOpQrSt", "an OpenAI key"),
        ("pypi-AgEN", "dGVzdC5weXBpLm9yZwIkYWJjZGVmZ2gtaWprbC1tbm9wLXFyc3QtdXZ3eHl6", "a PyPI token"),
        ("mongodb+srv://bob:", "ZeA5jbsBXA3hcM@cluster0.acme.mongodb.net", "a password in an address"),
        ("-----BEGIN ENCRYPTED ", "PRIVATE KEY-----\nMIIFHDBOBgkqhkiG9w0BBQ0wQTApBgk", "a private key"),
        ("-----BEGIN PGP ", "PRIVATE KEY BLOCK-----\n\nlQOYBGPdy2sBCADOrQZz4bKnMVE5", "a private key"),
    ],
)  # fmt: skip
def test_the_other_forms_of_a_credential_are_found_too(begin: str, rest: str, name: str) -> None:
    assert find_credential(f"short\n{begin}{rest}\n") == name


def test_kinds_without_a_beginning_of_their_own_are_found() -> None:
    for text in ("password = 'abcdef123456'", "10.20.30.40", "import os\n", "# SG.x",
                 "ftp://user:pw@host/x", "http://bob:PASSWORD@db", "https://u:***@h.io", "a://b:<pw>@c"):  # fmt: skip
        assert find_credential(text) is None
    for name, text in {
        "a password of Cloudant": "cloudant_password = '" + "a1b2c3d4" * 8 + "'",
        "a secret key of IBM's object store": "cos_secret_access_key='" + "0A1b2c3d4e5f" * 4 + "'",
        "a key of IBM's cloud": "ibm_api_key='" + "a1_-" * 11 + "'",
        "a key of SoftLayer": "softlayer_api_key='" + "a1" * 32 + "'",
        "an Artifactory key": "key: AP6" + "a1B2c3D4" * 2,
        "a Mailchimp key": "a1b2c3d4" * 4 + "-us21",
        "a Discord token": "x=M" + "a1-B" * 6 + ".Ab-c_1." + "a1b" * 9,
        "a Square secret": "sq0csp-" + "a-B" * 14 + "c",
        "a Twilio key": "sid: AC" + "a1b2c3d4" * 4,
    }.items():
        assert find_credential(f"short line\n{text}\n") == name
    function = "convert_number_values_for_function_call_args"  # as long as a key of IBM
    assert find_credential(f"ibm_cloud_key = {function}") is None
    assert find_credential("cl_key = " + "abcdwxyz" * 3)  # Cloudant's name for a user
    assert find_credential(f"https://bob:{'abcdwxyz' * 3}@bob.cloudant.com/db")


@pytest.mark.parametrize(
    ("name", "text", "secret"),
    [
        (".env.sample", "DB_PASSWORD=Tr0ub4dor&3xQ", "Tr0ub4dor&3xQ"),
        (".env.example", 'A=1\nJWT_SECRET="kJ8s92LmXq0Zr7Tt"', "kJ8s92LmXq0Zr7Tt"),
        ("a.md", "mysqldump -u app -pQuartzMoleRiver app", "QuartzMoleRiver"),
        ("a.md", "curl -su admin -u admin:QuartzMoleRiver https://h.corp/x", "QuartzMoleRiver"),
        ("a.py", 'get(url, auth=("svc", "kR8mQ2wLx"))', "kR8mQ2wLx"),
        ("a.py", "HTTPBasicAuth('svc', 'kR8-mQ2wLx')", "kR8-mQ2wLx"),
        ("a.py", "key = 'sk-proj-" + "Ab3De5Fg7H" * 4 + "'", "Ab3De5Fg7H"),
        (".env.example", "PASS=changeme\nAPI_KEY=your_api_key_1234\nTOKEN=12345678abc", None),
        (".env.dist", "KEY=my-secret-key-16\nURL=redis://localhost:6379/0", None),
        ("a.md", "mysql -u root -pYourPassword\nmysql -pMYSQL_PASS db\nmysql -pmydatabase", None),
        ("a.md", "curl -u YOUR_USER:YOUR_KEY x\ncurl -u me:yourApiKey x\ncurl -u u:passwd x", None),
        ("a.py", "auth=('user', 'password1')\nauth=('foo', 'barbarbar')\nauth=('a', key2)", None),
        ("a.md", "sk-proj-your-key-here-please-and-nothing-else-but-it", None),
        (
            "a.yml",
            f"{SECRETS['an AWS access key']}\nPasswordLastUsed: 2026-01-05T10:00:00Z",
            "AKIA",
        ),
    ],
)
def test_a_real_password_is_masked_and_a_word_for_one_is_not(
    name: str, text: str, secret: str | None
) -> None:
    masked = SecretScan().clean(text, name, name)
    assert masked is not None and (secret or "\0") not in masked
    assert masked == text if secret is None else "REDACTED" in masked
    assert "PasswordLastUsed" not in text or "2026-01-05T10:00:00Z" in masked


@pytest.mark.parametrize(
    ("name", "text", "held"),
    [
        (".env", "DB_URL=postgres://admin:hunter2pass@db/prod", True),
        ("a/prod.env", 'export API_KEY="abcdef123456"', True),
        (".env.local", "DB_PASSWORD=hunter2pass", True),
        (".netrc", "machine github.com login me password s3cretpassw0rd", True),
        (".pgpass", "localhost:5432:db:me:s3cretpassw0rd", True),
        (".git-credentials", "https://me:s3cretpassw0rd@github.com", True),
        (".env.example", "API_KEY=abcdef123456", False),
        (".env", "PORT=8080\nAPI_KEY=\nTOKEN=${TOKEN}", False),
        ("environment.py", "API_KEY = 'abcdef123456'", False),
    ],
)
def test_in_a_file_for_passwords_any_password_counts(name: str, text: str, held: bool) -> None:
    assert (find_credential(text, name) is not None) == held


@pytest.mark.parametrize(
    "text",
    [
        "AKIAIOSFODNN7EXAMPLE", "ghp_" + "x" * 36, "-----BEGIN PRIVATE KEY-----", "hf_transformers",
        "if '-----BEGIN RSA PRIVATE KEY-----' in text:\n    return True\n", "npm_config_registry",
        "sk-ant-api03-...", "sk-learn", "data:image/png;base64,AIzaSy",
        "key: |-\n  -----BEGIN RSA PRIVATE KEY-----\n  ...\n  -----END RSA PRIVATE KEY-----\n",
        "## -----BEGIN EC PRIVATE KEY-----\n##     ...\n## -----END EC PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n  REDACTED\n  -----END PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n" + "REDACTED" * 8,
        "https://hooks.slack.com/services/T00000000/B00000000/" + "X" * 24,
        "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
        "https://a:longenough@localhost:8000", "http://svc:longenough@api.example.com/",
        "redis://u:longenough@127.0.0.1:6379", "http://u:longenough@[::1]:6379", "http://u:longenough@x.test",
        "postgres://postgres:postgres@db/x", "postgres://app_user:changeme@db/app", "postgresql://user:mypassword@db",
        "s3://{access_key}:{secret_key}@bucket/x", "https://user:<secret-word>@host", "http://me:${LONG_NAME}@host",
        "Server=a;User Id=sa;Password=myPassword;", "<password>changeme1</password>", "<password>${env.PASS}</password>",
        "define('DB_PASSWORD', 'password_here');", "A text of kind: Secret\npassword: correcthorse\n",
        "https://user:$LONG_NAME@host", "http://host:8080/a@b", "http://host:8080?mail=joe1@acme.io",
        "redis://:@host", "postgres://user:password123@db.acme.io", "amqp://guest:guest@mq", "mq://u:s3cret@db.acme.io",
        "postgres://%s:%s@%s", "mq://user:********@db.acme.io", "mq://me:passw0rd@db.acme.io", "docker://redis:7.2-alpine@sha256:0a",
        "mq://u:${PW:-x1y2z3}@h", "http://a:%F0%9F%8D%A9@h", "[a](http://x:8080),mail@b", "?user=a1&password=foobar",
        "<https://server:8080/a>; mail: me@example.org",
        "-----BEGIN PRIVATE KEY-----\nMIIEowIBAAKCAQEA0Z3VS5JJcds3xfn\n...\nw5Ux8zQ==\n-----END",
    ],
)  # fmt: skip
def test_what_only_speaks_of_credentials_holds_none(text: str) -> None:
    assert find_credential(text) is None


@pytest.mark.parametrize(
    ("repeated", "times"),
    [
        ("untrusted comment: secret key ", 1_000), ("ibmkey", 10_000), ("BUNDLE_a__", 4_000),
        ("-----BEGIN PRIVATE KEY-----\\nA: ", 1_000), ("--user" + "\t" * 99_999 + "~", 1),
    ],
)  # fmt: skip
def test_the_beginning_of_a_credential_many_times_over_is_little_work(
    repeated: str, times: int
) -> None:
    # Each took minutes: a beginning was looked for in all of a line, from every place in it.
    assert find_credential(repeated * times) is None


@pytest.mark.parametrize(
    "text",
    [
        "ENV GPG_KEY=E3FF2839C048B25C084DEBE9B26995E310250568\n",
        '{"recaptchaSiteKey": "6LeIxAcTAAAAAJcZVRqyHh71UMIEGNQ_MXjiZKhI"}',
        '<trusted-key id="6F538074CCEBF35F28AF9B066A0975F8B1127B83" group="a"/>',
        'model_key = "Meta-Llama-3.1-8B-Instruct-AWQ-INT4"',
        'sort_key = "2024-01-15T10-00-00Z-Us1"',
        '{"tiktoken": "o200k_base"}',
        "session = cs_test_a11YYufWQzNY63zpQ6QSNRQhkUpVph4WRmzW0zWJO2znZKdVujZ0N0S22u",
    ],
)
def test_a_public_key_or_a_name_is_no_credential(text: str) -> None:
    assert find_credential(text, "a.json") is None


@given(
    st.sets(st.text("ab.|[\\ ", min_size=1, max_size=4), min_size=1),
    st.text("ab.|[\\ \n\ud800é", max_size=40),
)
def test_all_words_in_a_text_are_found_in_one_pass(words: set[str], text: str) -> None:
    assert WordFinder(words).find(text) == {word for word in words if word in text}


@given(st.data())
def test_no_word_of_a_credential_hides_another(data: st.DataObject) -> None:
    words = {word for known in known_credentials().credentials for word in known.words}
    parts = st.one_of(st.sampled_from(sorted(words)), st.text("ak-_=:/ ", max_size=2))
    text = "".join(
        part[data.draw(st.integers(0, len(part))) :] + part
        for part in data.draw(st.lists(parts, max_size=8))
    )
    assert WordFinder(words).find(text) == {word for word in words if word in text}
