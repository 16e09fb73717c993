extension Example {
  static let vault: [String: [Example]] = [
    "vault": [
      Example("check that nothing was changed or lost", "coffer vault verify"),
      Example("the newest 20 entries of the log", "coffer vault log --limit 20"),
    ],
    "show": [
      Example("everything but the secrets", "coffer show github.com/ada"),
      Example("with the value and all secret fields", "coffer show github.com/ada --reveal"),
    ],
    "otp": [
      Example("a site's secret, typed at a prompt", "coffer otp github.com/ada --set"),
      Example("from a picture of the QR code", "zbarimg -q --raw code.png | coffer otp github.com/ada --set"),
      Example("copy the current code", "coffer otp github.com/ada --clip"),
    ],
    "list": [
      Example("every secret and preference; ⏱ marks a one-time code, ⚿2 two fields", "coffer list"),
      Example("the accounts of one service", "coffer list github.com"),
      Example("the next items to expire", "coffer list --expiring 30d --sort expires"),
      Example("folders, services and accounts as a tree", "coffer list --tree"),
      Example("deleted items that can be brought back", "coffer list --deleted"),
    ],
    "find": [
      Example("by a part of a name or label", "coffer find hub"),
      Example("by an attribute", "coffer find env=prod"),
      Example("by some of its letters: github.com", "coffer find --fuzzy ghb"),
      Example("by a part of a secret, typed at a prompt", "coffer find --values"),
    ],
    "delete": [
      Example("remove an item; 'coffer undelete' brings it back", "coffer delete github.com/ada"),
      Example("with its previous versions, for good", "coffer delete github.com/ada --forever"),
      Example("a whole folder", "coffer delete -r old/ --yes"),
      Example("a preference", "coffer delete theme"),
    ],
    "rename": [
      Example("another account", "coffer rename github.com/ada github.com/ada-old"),
      Example("a whole folder", "coffer rename work/ old/"),
      Example("a folder to the vault named team", "coffer rename work/ --to-vault team"),
    ],
    "copy": [
      Example("the same token for another service", "coffer copy github.com/ada ghcr.io/ada"),
      Example("replace an existing item", "coffer copy github.com/ada --to-service ghcr.io --replace"),
      Example("an item in another vault", "coffer copy github.com/ada --to-vault team"),
    ],
    "edit": [
      Example("change the value in your editor", "coffer edit github.com/ada"),
      Example("change its expiry and label, not the value", "coffer edit github.com/ada --expires 90d --label ''"),
      Example("change its description in your editor", "coffer edit github.com/ada --form"),
    ],
    "history": [
      Example("an item's versions, the newest first", "coffer history github.com/ada"),
      Example("the versions of a field", "coffer history bank/ann --field pin"),
    ],
    "revert": [
      Example("return an item to its previous version", "coffer revert github.com/ada"),
      Example("return an item to revision 1", "coffer revert github.com/ada 1"),
    ],
    "undelete": [Example("bring an item back, with its fields", "coffer undelete github.com/ada")],
    "vault prune": [
      Example("versions replaced or deleted long ago", "coffer vault prune --older-than 90d"),
      Example("all previous versions of one item", "coffer vault prune github.com ada --keep 0"),
    ],
    "import": [
      Example("preview a Bitwarden import", "coffer import bitwarden.json --dry-run"),
      Example("the pass store", "coffer import --from pass"),
      Example("a KeePass database", "keepassxc-cli export secrets.kdbx | coffer import -"),
    ],
    "export": [
      Example("a vault of one service, with a secret of its own", "coffer export team.vault --service example.com"),
      Example("references for coffer run, no secrets", "coffer export --references --service example.com"),
    ],
    "merge": [
      Example("preview a merge with a copy of the vault", "coffer merge /media/stick/vault.sqlite --dry-run"),
      Example("merge the changes of a named vault", "coffer merge work"),
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
    "vault members": [
      Example("who can open the vaults of this project", "coffer vault members"),
      Example("the same in a script, which agrees to its coffer.vaults", "coffer vault members --yes"),
    ],
    "vault invite": [Example("the invitation for another person", "coffer vault invite")],
    "vault log": [
      Example("the newest entries", "coffer vault log --limit 20"),
      Example("logins, signatures and reads on this machine", "coffer vault log --uses"),
    ],
    "vault join": [Example("a vault shared with you", "coffer vault join /mnt/team/vault.sqlite --identity ~/me.identity")],
    "vault grant": [
      Example("let a role of the server write", "coffer vault grant ada=writer --vault team"),
      Example("shut a removed member's role out", "coffer vault grant ada=none --vault team"),
    ],
    "vault slot": [Example("ways to unlock the vault", "coffer vault slot list")],
    "vault slot list": [Example("ways to unlock the vault", "coffer vault slot list")],
    "vault slot add": [
      Example("a code in case you forget the passphrase", "coffer vault slot add --recovery-code --label paper"),
      Example("a key file for a machine", "coffer vault slot add --new-key-file ~/server.key --label server"),
      Example("a member for 90 days", "coffer vault slot add --label grace --until 90d --recipient PVPUB1-…"),
    ],
    "vault slot remove": [Example("by the start of its id", "coffer vault slot remove 57a2")],
    "vault slot label": [Example("label a slot", "coffer vault slot label 57a2 paper")],
    "vault passphrase": [Example("change it, and the key with it", "coffer vault passphrase")],
    "vault rotate": [
      Example("a new key for all items", "coffer vault rotate"),
      Example("each night: remove members whose last day is over", "coffer vault rotate --ended --yes"),
    ],
    "vault identity": [Example("an identity of your own", "coffer vault identity ~/me.identity --new")],
    "backup": [Example("a sealed copy of today", "coffer backup ~/vault-2026-11-22.backup")],
    "vault sync": [
      Example("the first time: where the sealed files go", "coffer vault sync git@host:ada/vault.git --as desk"),
      Example("then, with each remote that is remembered", "coffer vault sync"),
    ],
    "vault clone": [Example("the vault on another machine", "coffer vault clone git@host:ada/vault.git --as lap")],
    "vault mirror": [
      Example("a copy to read while the server is away", "coffer vault mirror ~/mirrors/team"),
      Example("update it after each commit, until Control-C", "coffer vault mirror ~/mirrors/team --follow"),
    ],
    "restore": [Example("the old vault is kept beside it", "coffer restore ~/vault-2026-11-01.backup")],
    "vault repair": [Example("repair a damaged header from its copy", "coffer vault repair")],
    "vault pin": [Example("this machine's memory of the vault", "coffer vault pin show")],
    "vault pin show": [Example("this machine's memory of the vault", "coffer vault pin show")],
    "vault pin accept": [
      Example("an older copy, put back on purpose", "coffer vault pin accept"),
      Example("the same for a fleet", "coffer vault pin accept --for-all"),
    ],
  ]

  static let programs: [String: [Example]] = [
    "run": [
      Example("a variable", "coffer run --env TOKEN=coffer://github.com/ada -- make release"),
      Example("variables of a file, secrets masked in the output", "coffer run --env-file .env --mask -- npm test"),
      Example("a file in memory", "coffer run --file KEY=coffer://ssh/deploy -- sh -c 'ssh -i \"$KEY\" host'"),
    ],
    "inject": [Example("fill in a template", "coffer inject -i app.yml.tpl -o app.yml")],
    "helper": [Example("a request of git", "printf 'protocol=https\\nhost=github.com\\n\\n' | coffer helper git get")],
    "helper git": [
      Example("have git ask coffer", "git config --global credential.helper coffer"),
      Example("a request of git", "printf 'protocol=https\\nhost=github.com\\n\\n' | coffer helper git get"),
    ],
    "helper docker": [Example("a request of docker", "echo https://index.docker.io/v1/ | coffer helper docker get")],
    "helper aws": [Example("for credential_process in ~/.aws/config", "coffer helper aws work")],
    "helper kubectl": [Example("for the user's exec in ~/.kube/config", "coffer helper kubectl k8s.example.com ada")],
    "helper askpass": [Example("a question of ssh", "coffer helper askpass 'Enter passphrase for /home/ada/.ssh/id:'")],
    "helper cargo": [Example("as cargo starts it", "coffer helper cargo --cargo-plugin")],
    "helper keyring": [
      Example("a request of pip", "coffer helper keyring get https://pypi.example.com/simple/ ada"),
      Example("user and password for uv", "coffer helper keyring get https://pypi.example.com --mode creds"),
    ],
    "helper age": [
      Example("a new identity, printed as a file for age -i", "coffer helper age new notes"),
      Example("one of age-keygen", "grep AGE-SECRET-KEY key.txt | coffer helper age add notes"),
    ],
    "ssh": [
      Example("a key for one server, and for signing commits", "coffer ssh new github --for git@github.com --for sign:git"),
      Example("start it when ssh asks, for all sessions", "coffer ssh install"),
    ],
    "ssh new": [
      Example("a key for one server, and for signing commits", "coffer ssh new github --for git@github.com --for sign:git"),
      Example("a person is asked for each login", "coffer ssh new prod --for deploy@prod.example.com --ask always"),
    ],
    "ssh add": [Example("an existing key", "coffer ssh add ~/.ssh/id_ed25519 --name work")],
    "ssh list": [
      Example("the keys and their uses", "coffer ssh list"),
      Example("the public lines, for a server's authorized_keys", "coffer ssh list | cut -f2"),
    ],
    "ssh edit": [
      Example("another use for a key", "coffer ssh edit github --for git@github.com --for git@gitlab.com"),
      Example("after a server has got a new host key", "coffer ssh edit github --hosts"),
    ],
    "ssh allow": [
      Example("answer what programs wait for", "coffer ssh allow"),
      Example("permit a key's uses ahead", "coffer ssh allow prod --time 1h"),
    ],
    "login": [
      Example("the token typed at a prompt", "coffer login github.com --account ada"),
      Example("from another program", "gh auth token | coffer login github.com --with-token"),
      Example("make another known account active", "coffer login github.com --account bob"),
      Example("with a code, at your own server", "coffer login git.example --issuer https://id.example --client-id cli"),
    ],
    "logout": [Example("remove the token of the active account", "coffer logout github.com")],
    "token": [
      Example("for a program", "curl -H \"Authorization: Bearer $(coffer token github.com)\" https://api.github.com/user"),
      Example("a new one from the server at once", "coffer token git.example --fresh"),
    ],
    "provider": [
      Example("name a known server", "coffer provider add github.com --client-id Iv1.8a61f9b3a7aba766 --scope repo")
    ],
    "provider add": [
      Example("a known server", "coffer provider add github.com --client-id Iv1.8a61f9b3a7aba766 --scope repo"),
      Example("any other server", "coffer provider add git.example --issuer https://id.example --client-id cli"),
    ],
    "provider list": [Example("all named servers", "coffer provider list")],
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
      Example("print the unit", "coffer agent install --print"),
    ],
    "secret-service": [
      Example("start it from the bus, for all programs of this session", "coffer secret-service install"),
      Example("the program that answers now", "coffer secret-service status"),
    ],
    "secret-service run": [
      Example("in this terminal, replacing another keyring", "coffer secret-service run --replace"),
      Example("ask with a program", "coffer secret-service run --prompt pinentry"),
    ],
    "secret-service install": [
      Example("on a desktop or a server", "coffer secret-service install"),
      Example("print the files", "coffer secret-service install --print"),
    ],
    "secret-service status": [Example("the program that answers, and its bus", "coffer secret-service status")],
    "secret-service share": [
      Example("show an item to other programs", "coffer secret-service share github.com/ada"),
      Example("hide it again", "coffer secret-service share github.com/ada --undo"),
    ],
    "ssh run": [
      Example("in this terminal", "coffer ssh run --socket ~/ssh.sock"),
      Example("one command with one key", "coffer ssh run --key github -- git push"),
    ],
    "ssh install": [
      Example("on a desktop or a server", "coffer ssh install"),
      Example("print the files", "coffer ssh install --print"),
    ],
    "generate": [
      Example("a password", "coffer generate --length 24"),
      Example("a passphrase that is easy to remember", "coffer generate --words 5"),
      Example("copy a new password for 45 seconds", "coffer generate --clip"),
    ],
    "doctor": [
      Example("find weaknesses", "coffer doctor"),
      Example("move plain-text secrets into the vault, asking for each", "coffer doctor --fix"),
      Example("compare stored keys with a program's declared ones", "coffer doctor --keys schema.json --domain com.example.app"),
    ],
    "install": [
      Example("for you: ~/.local/bin, manual pages and completion", "coffer install --completions"),
      Example("for all users", "sudo coffer install --completions --prefix /usr/local"),
      Example("have git ask coffer for a host's password", "coffer install --git github.com"),
      Example("remove it again", "coffer install --remove"),
    ],
    "completion": [Example("for this shell only", "source <(coffer completion bash)")],
    "version": [Example("details for a bug report", "coffer version")],
  ]
}
