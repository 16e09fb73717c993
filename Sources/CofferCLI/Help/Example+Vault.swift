extension Example {
  static let vault: [String: [Example]] = [
    "vault": [
      Example("check that nothing was changed or lost", "coffer vault verify"),
      Example("who did what to which item", "coffer vault log --limit 20"),
    ],
    "show": [Example("everything but the value", "coffer show github.com/ada")],
    "otp": [
      Example("the seed that a site shows, typed at a prompt", "coffer otp github.com/ada --set"),
      Example("from a picture of the QR code", "zbarimg -q --raw code.png | coffer otp github.com/ada --set"),
      Example("copy the code of this moment", "coffer otp github.com/ada --clip"),
    ],
    "list": [
      Example("every secret and preference", "coffer list"),
      Example("the accounts of one service", "coffer list github.com"),
      Example("what expires next", "coffer list --expiring 30d --sort expires"),
      Example("folders, services and accounts as a tree", "coffer list --tree"),
      Example("what was deleted and can be brought back", "coffer list --deleted"),
    ],
    "find": [
      Example("by a part of a name or label", "coffer find hub"),
      Example("by an attribute", "coffer find env=prod"),
      Example("by letters in their order: github.com", "coffer find --fuzzy ghb"),
    ],
    "delete": [
      Example("remove an item; 'coffer undelete' brings it back", "coffer delete github.com/ada"),
      Example("with all that is kept of it", "coffer delete github.com/ada --forever"),
      Example("a whole folder", "coffer delete -r old/ --yes"),
      Example("a preference", "coffer delete theme"),
    ],
    "rename": [
      Example("another account", "coffer rename github.com/ada github.com/ada-old"),
      Example("a whole folder", "coffer rename work/ old/"),
    ],
    "copy": [
      Example("the same token for another service", "coffer copy github.com/ada ghcr.io/ada"),
      Example("in the place of one that is there", "coffer copy github.com/ada --to-service ghcr.io --replace"),
    ],
    "edit": [
      Example("change the value in your editor", "coffer edit github.com/ada"),
      Example("change what describes it, and leave the value", "coffer edit github.com/ada --expires 90d --label ''"),
      Example("all that describes it, in your editor", "coffer edit github.com/ada --form"),
    ],
    "history": [
      Example("what an item was, the newest first", "coffer history github.com/ada"),
      Example("what one of its fields was", "coffer history bank/ann --field pin"),
    ],
    "revert": [Example("make an item what it was at revision 1", "coffer revert github.com/ada 1")],
    "undelete": [Example("bring an item back, with its fields", "coffer undelete github.com/ada")],
    "vault prune": [
      Example("what was replaced or deleted long ago", "coffer vault prune --older-than 90d"),
      Example("all that is kept of one item", "coffer vault prune github.com ada --keep 0"),
    ],
    "import": [
      Example("what an export of Bitwarden would add", "coffer import bitwarden.json --dry-run"),
      Example("the store of pass", "coffer import --from pass"),
      Example("a database of KeePass", "keepassxc-cli export secrets.kdbx | coffer import -"),
    ],
    "export": [
      Example("a vault of one service, with a secret of its own", "coffer export team.vault --service example.com"),
      Example("references for coffer run, no secrets", "coffer export --references --service example.com"),
    ],
    "merge": [
      Example("what a copy of the vault would change", "coffer merge /media/stick/vault.sqlite --dry-run"),
      Example("take over what is newer in a vault with a name", "coffer merge work"),
    ],
    "vault audit": [Example("weak, reused, old and expiring secrets", "coffer vault audit")],
  ]

  static let upkeep: [String: [Example]] = [
    "vault verify": [Example("check every record", "coffer vault verify")],
    "vault use": [
      Example("the named vaults", "coffer vault use"),
      Example("'coffer --vault work list' then lists that vault", "coffer vault use work ~/work/vault.sqlite"),
      Example("forget the name, and leave the vault", "coffer vault use work --remove"),
    ],
    "vault invite": [Example("for the person who joins", "coffer vault invite")],
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
    "vault identity": [Example("an identity of your own", "coffer vault identity ~/me.identity --new")],
    "backup": [Example("a sealed copy of today", "coffer backup ~/vault-2026-11-22.backup")],
    "vault mirror": [
      Example("a copy for the time when the server is away", "coffer vault mirror ~/mirrors/team"),
      Example("kept up to each commit, until control-C", "coffer vault mirror ~/mirrors/team --follow"),
    ],
    "restore": [Example("what was there is kept beside it", "coffer restore ~/vault-2026-11-01.backup")],
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
    "helper": [Example("what git asks", "printf 'protocol=https\\nhost=github.com\\n\\n' | coffer helper git get")],
    "helper git": [
      Example("have git ask coffer", "git config --global credential.helper ~/.local/bin/git-credential-coffer"),
      Example("what git asks", "printf 'protocol=https\\nhost=github.com\\n\\n' | coffer helper git get"),
    ],
    "helper docker": [Example("what docker asks", "echo https://index.docker.io/v1/ | coffer helper docker get")],
    "helper aws": [Example("for credential_process in ~/.aws/config", "coffer helper aws work")],
    "helper kubectl": [Example("for the user's exec in ~/.kube/config", "coffer helper kubectl k8s.example.com ada")],
    "helper askpass": [
      Example("what ssh asks", "coffer helper askpass 'Enter passphrase for /home/ada/.ssh/id:'")
    ],
    "helper cargo": [Example("what cargo starts", "coffer helper cargo --cargo-plugin")],
    "helper keyring": [
      Example("what pip asks", "coffer helper keyring get https://pypi.example.com/simple/ ada"),
      Example("user and password for uv", "coffer helper keyring get https://pypi.example.com --mode creds"),
    ],
    "login": [
      Example("the token typed at a prompt", "coffer login github.com --account ada"),
      Example("from another program", "gh auth token | coffer login github.com --with-token"),
      Example("another account that is known becomes the active one", "coffer login github.com --account bob"),
      Example("by a code, at a server of your own", "coffer login git.example --issuer https://id.example --client-id cli"),
    ],
    "logout": [Example("remove the token of the active account", "coffer logout github.com")],
    "token": [
      Example("for a program", "curl -H \"Authorization: Bearer $(coffer token github.com)\" https://api.github.com/user"),
      Example("a new one from the server at once", "coffer token git.example --fresh"),
    ],
    "provider": [
      Example("name a server that is known", "coffer provider add github.com --client-id Iv1.8a61f9b3a7aba766 --scope repo")
    ],
    "provider add": [
      Example("one that is known", "coffer provider add github.com --client-id Iv1.8a61f9b3a7aba766 --scope repo"),
      Example("any other", "coffer provider add git.example --issuer https://id.example --client-id cli"),
    ],
    "provider list": [Example("which servers have a name", "coffer provider list")],
    "provider remove": [Example("forget one", "coffer provider remove github.com")],
    "agent": [
      Example("in the background, locked", "coffer agent run --detach"),
      Example("wipe its keys and end it", "coffer agent stop"),
    ],
    "agent run": [
      Example("for a service manager", "coffer agent run"),
      Example("in the background, locked", "coffer agent run --detach"),
    ],
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
    "secret-service status": [Example("who answers, and on which bus", "coffer secret-service status")],
    "secret-service share": [
      Example("show an item to other programs", "coffer secret-service share github.com/ada"),
      Example("and show it no longer", "coffer secret-service share github.com/ada --undo"),
    ],
    "generate": [
      Example("a password", "coffer generate --length 24"),
      Example("a passphrase that can be remembered", "coffer generate --words 5"),
    ],
    "doctor": [
      Example("what weakens the protection", "coffer doctor"),
      Example("move what lies in the clear into the vault, after a question for each", "coffer doctor --fix"),
      Example("what is stored beside what a program declares", "coffer doctor --keys schema.json --domain com.example.app"),
    ],
    "install": [
      Example("for you: ~/.local/bin, manual pages and completion", "coffer install --completions"),
      Example("for all users", "sudo coffer install --completions --prefix /usr/local"),
      Example("have git ask coffer for a host's password", "coffer install --git github.com"),
      Example("take it away again", "coffer install --remove"),
    ],
    "completion": [Example("for this shell alone", "source <(coffer completion bash)")],
    "version": [Example("what to write into a report of a bug", "coffer version")],
  ]
}
