extension Example {
  static let vault: [String: [Example]] = [
    "vault": [
      Example("store a password, typed at a prompt", "coffer vault set github.com ada"),
      Example("copy it for 45 seconds", "coffer vault get github.com ada --clip"),
      Example("what is there", "coffer vault list"),
    ],
    "vault init": [Example("a vault for a person, with a recovery code", "coffer vault init --recovery-code")],
    "vault set": [
      Example("typed at a prompt", "coffer vault set github.com ada"),
      Example("a fresh password of 24 characters", "coffer vault set github.com ada --generate --length 24"),
      Example("a token that ends in 30 days", "coffer vault set example.com ci --expires 30d --file token.txt"),
      Example("a secret field beside the value", "coffer vault set bank ann --field pin"),
    ],
    "vault get": [
      Example("copy it for 45 seconds", "coffer vault get github.com ada --clip"),
      Example("exactly the stored bytes, for a program", "coffer vault get github.com ada | wc -c"),
      Example("a secret field, or something else than the value", "coffer vault get bank ann --field pin"),
      Example("what it was before", "coffer vault get github.com ada --revision 1"),
    ],
    "vault show": [Example("everything but the value", "coffer vault show github.com ada")],
    "vault otp": [
      Example("the seed that a site shows, typed at a prompt", "coffer vault otp github.com ada --set"),
      Example("from a picture of the QR code", "zbarimg -q --raw code.png | coffer vault otp github.com ada --set"),
      Example("copy the code of this moment", "coffer vault otp github.com ada --clip"),
    ],
    "vault list": [
      Example("every item", "coffer vault list"),
      Example("the accounts of one service", "coffer vault list github.com"),
      Example("what expires next", "coffer vault list --expiring 30d --sort expires"),
      Example("services with their accounts below them", "coffer vault list --tree"),
    ],
    "vault find": [
      Example("by a part of a name or label", "coffer vault find hub"),
      Example("by an attribute", "coffer vault find env=prod"),
      Example("by letters in their order: github.com", "coffer vault find --fuzzy ghb"),
    ],
    "vault delete": [
      Example("remove an item; 'coffer vault undelete' brings it back", "coffer vault delete github.com ada"),
      Example("with all that is kept of it", "coffer vault delete github.com ada --forever"),
    ],
    "vault rename": [
      Example("another account", "coffer vault rename github.com ada github.com ada-old"),
      Example("the same, as messages write it", "coffer vault rename github.com/ada github.com/ada-old"),
    ],
    "vault copy": [
      Example("the same token for another service", "coffer vault copy github.com ada ghcr.io ada"),
      Example("in the place of one that is there", "coffer vault copy github.com ada --to-service ghcr.io --replace"),
    ],
    "vault edit": [
      Example("change the value in your editor", "coffer vault edit github.com ada"),
      Example("change what describes it, and leave the value", "coffer vault edit github.com ada --expires 90d --label ''"),
      Example("all that describes it, in your editor", "coffer vault edit github.com ada --form"),
    ],
    "vault history": [
      Example("what an item was, the newest first", "coffer vault history github.com ada"),
      Example("what one of its fields was", "coffer vault history bank ann --field pin"),
    ],
    "vault revert": [Example("make an item what it was at revision 1", "coffer vault revert github.com ada 1")],
    "vault deleted": [Example("what can be brought back, and until when", "coffer vault deleted")],
    "vault undelete": [Example("bring an item back, with its fields", "coffer vault undelete github.com ada")],
    "vault prune": [
      Example("what was replaced or deleted long ago", "coffer vault prune --older-than 90d"),
      Example("all that is kept of one item", "coffer vault prune github.com ada --keep 0"),
    ],
    "vault import": [
      Example("what an export of Bitwarden would add", "coffer vault import bitwarden.json --dry-run"),
      Example("the store of pass", "coffer vault import --from pass"),
      Example("a database of KeePass", "keepassxc-cli export secrets.kdbx | coffer vault import -"),
    ],
    "vault export": [
      Example("a vault of one service, with a secret of its own", "coffer vault export team.vault --service example.com"),
      Example("references for coffer run, no secrets", "coffer vault export --references --service example.com"),
    ],
    "vault merge": [
      Example("what a copy of the vault would change", "coffer vault merge /media/stick/vault.sqlite --dry-run"),
      Example("take over what is newer in a vault with a name", "coffer vault merge work"),
    ],
    "vault audit": [Example("weak, reused, old and expiring secrets", "coffer vault audit")],
  ]

  static let upkeep: [String: [Example]] = [
    "vault verify": [Example("check every record", "coffer vault verify")],
    "vault status": [Example("what the vault is and what opens it", "coffer vault status")],
    "vault name": [
      Example("then 'coffer --vault work status' looks at that vault", "coffer vault name add work ~/work/vault.sqlite")
    ],
    "vault name add": [Example("a vault that --vault work means", "coffer vault name add work ~/work/vault.sqlite")],
    "vault name remove": [Example("forget the name", "coffer vault name remove work")],
    "vault name list": [Example("which names there are", "coffer vault name list")],
    "vault log": [Example("the last changes", "coffer vault log --limit 20")],
    "vault join": [
      Example("a vault that someone let you into", "coffer vault join /mnt/team/vault.sqlite --identity ~/me.identity")
    ],
    "vault slot": [Example("what opens the vault", "coffer vault slot list")],
    "vault slot list": [Example("what opens the vault", "coffer vault slot list")],
    "vault slot add": [
      Example("a code for the day the passphrase is forgotten", "coffer vault slot add --recovery-code --label paper"),
      Example("a file for a machine", "coffer vault slot add --new-key-file ~/server.key --label server"),
    ],
    "vault slot remove": [Example("by the id that slot list shows", "coffer vault slot remove 57a2")],
    "vault slot label": [Example("a name for a way in", "coffer vault slot label 57a2 paper")],
    "vault passphrase": [Example("change it, and the key with it", "coffer vault passphrase")],
    "vault rotate": [Example("a new key for all items", "coffer vault rotate")],
    "vault identity": [Example("an identity of your own", "coffer vault identity new ~/me.identity")],
    "vault identity new": [Example("an identity of your own", "coffer vault identity new ~/me.identity")],
    "vault identity show": [Example("what others need to let you in", "coffer vault identity show ~/me.identity")],
    "vault backup": [Example("a sealed copy of today", "coffer vault backup ~/vault-2026-11-22.backup")],
    "vault mirror": [
      Example("a copy for the time when the server is away", "coffer vault mirror ~/mirrors/team"),
      Example("kept up to each commit, until control-C", "coffer vault mirror ~/mirrors/team --follow"),
    ],
    "vault restore": [Example("what was there is kept beside it", "coffer vault restore ~/vault-2026-11-01.backup")],
    "vault repair": [Example("mend a damaged header from its copy", "coffer vault repair")],
    "vault pin": [Example("what this machine remembers", "coffer vault pin show")],
    "vault pin show": [Example("what this machine remembers", "coffer vault pin show")],
    "vault pin accept": [Example("an older copy, put back on purpose", "coffer vault pin accept")],
  ]

  static let programs: [String: [Example]] = [
    "run": [
      Example("a variable", "coffer run --env TOKEN=coffer://github.com/ada -- make release"),
      Example("variables of a file, secrets masked in the output", "coffer run --env-file .env --mask -- npm test"),
      Example("a file in memory", "coffer run --file KEY=coffer://ssh/deploy -- sh -c 'ssh -i \"$KEY\" host'"),
    ],
    "inject": [Example("fill in a template", "coffer inject -i app.yml.tpl -o app.yml")],
    "credential": [Example("what git asks", "printf 'protocol=https\\nhost=github.com\\n\\n' | coffer credential git get")],
    "credential git": [
      Example("have git ask coffer", "git config --global credential.helper ~/.local/bin/git-credential-coffer"),
      Example("what git asks", "printf 'protocol=https\\nhost=github.com\\n\\n' | coffer credential git get"),
    ],
    "credential docker": [Example("what docker asks", "echo https://index.docker.io/v1/ | coffer credential docker get")],
    "credential aws": [Example("for credential_process in ~/.aws/config", "coffer credential aws work")],
    "credential kubectl": [Example("for the user's exec in ~/.kube/config", "coffer credential kubectl k8s.example.com ada")],
    "credential askpass": [
      Example("what ssh asks", "coffer credential askpass 'Enter passphrase for /home/ada/.ssh/id:'")
    ],
    "credential cargo": [Example("what cargo starts", "coffer credential cargo --cargo-plugin")],
    "credential keyring": [
      Example("what pip asks", "coffer credential keyring get https://pypi.example.com/simple/ ada"),
      Example("user and password for uv", "coffer credential keyring get https://pypi.example.com --mode creds"),
    ],
    "auth": [
      Example("log in, with the token typed at a prompt", "coffer auth login github.com --account ada"),
      Example("where you are logged in", "coffer auth status"),
    ],
    "auth login": [
      Example("the token typed at a prompt", "coffer auth login github.com --account ada"),
      Example("from another program", "gh auth token | coffer auth login github.com --with-token"),
      Example("by a code, at a server of your own", "coffer auth login git.example --issuer https://id.example --client-id cli"),
    ],
    "auth logout": [Example("remove the token of the active account", "coffer auth logout github.com")],
    "auth status": [Example("where you are logged in", "coffer auth status")],
    "auth token": [
      Example("for a program", "curl -H \"Authorization: Bearer $(coffer auth token github.com)\" https://api.github.com/user")
    ],
    "auth refresh": [Example("renew it before a long job", "coffer auth refresh github.com")],
    "auth provider": [
      Example("name a server that is known", "coffer auth provider add github.com --client-id Iv1.8a61f9b3a7aba766 --scope repo")
    ],
    "auth provider add": [
      Example("one that is known", "coffer auth provider add github.com --client-id Iv1.8a61f9b3a7aba766 --scope repo"),
      Example("any other", "coffer auth provider add git.example --issuer https://id.example --client-id cli"),
    ],
    "auth provider list": [Example("which servers have a name", "coffer auth provider list")],
    "auth provider show": [Example("one of them", "coffer auth provider show github.com")],
    "auth provider remove": [Example("forget one", "coffer auth provider remove github.com")],
    "auth setup-git": [Example("for one host", "coffer auth setup-git github.com")],
    "auth switch": [Example("another account of a host", "coffer auth switch github.com --account work")],
    "login": [Example("the token typed at a prompt", "coffer login github.com --account ada")],
    "logout": [Example("every account of a host", "coffer logout github.com --all")],
    "agent": [Example("what it holds and for how long", "coffer agent status")],
    "agent start": [Example("for a service manager", "coffer agent start --foreground")],
    "agent status": [Example("what it holds and for how long", "coffer agent status")],
    "agent stop": [Example("wipe its keys and end it", "coffer agent stop")],
    "agent install": [
      Example("a unit for systemd", "coffer agent install --idle 30m"),
      Example("the unit, to look at", "coffer agent install --print"),
    ],
    "secret-service": [
      Example("have the bus start it for every program of this session", "coffer secret-service install"),
      Example("who answers now", "coffer secret-service status"),
    ],
    "secret-service run": [
      Example("in this terminal, in the place of another keyring", "coffer secret-service run --replace"),
      Example("asking by a program", "coffer secret-service run --prompt pinentry"),
    ],
    "secret-service install": [
      Example("on a desktop or a server", "coffer secret-service install"),
      Example("the files, to look at", "coffer secret-service install --print"),
    ],
    "secret-service uninstall": [Example("take the files away", "coffer secret-service uninstall")],
    "secret-service status": [Example("who answers, and on which bus", "coffer secret-service status")],
    "secret-service share": [
      Example("show an item to other programs", "coffer secret-service share github.com ada"),
      Example("and show it no longer", "coffer secret-service share github.com ada --undo"),
    ],
    "generate": [
      Example("a password", "coffer generate --length 24"),
      Example("a passphrase that can be remembered", "coffer generate --words 5"),
    ],
    "doctor": [
      Example("what weakens the protection", "coffer doctor"),
      Example("move what lies in the clear into the vault, after a question for each", "coffer doctor --fix"),
    ],
    "install": [
      Example("for you: ~/.local/bin, manual pages and completion", "coffer install --completions"),
      Example("for all users", "sudo coffer install --completions --prefix /usr/local"),
    ],
    "uninstall": [Example("what coffer install put there", "coffer uninstall")],
    "completion": [Example("for this shell alone", "source <(coffer completion bash)")],
    "env": [Example("where everything is", "coffer env")],
    "version": [Example("what to write into a report of a bug", "coffer version")],
  ]
}
