/// What `coffer help credentials` says.
enum CredentialsTopic {
  static let parts: [HelpTopic.Part] = [hosts, aws, kubectl, questions, cargo, keyring, netrc]

  private static let hosts = HelpTopic.Part(
    page: "CommandLineCredentials", section: "Which credential a host has",
    text: #"""
      A program names a URL, a host or the service of an item, and may name a user. It gets the first of these that exists \#
      and has not expired:

      - the item of exactly that service
      - for a URL of `https`, the login of its host (`coffer login`)
      - for a URL, the item of its scheme and host (`https://github.com`)
      - for a URL of `https`, the item of its host (`github.com`)

      git, docker, `run --netrc`, kubectl, askpass, cargo, pip and uv follow this order, so `coffer set github.com/octocat` \#
      is enough for git.
      docker looks for the item `docker:SERVER` first. If git sends a path, only an item with that path and the login are \#
      meant. The host has no
      case. A port other than the scheme's own is a part of it: the item `github.com` does not serve \#
      `https://github.com:8443`. The value of a
      host's item is the password, and its account is the user. Attributes decide nothing. git and docker neither overwrite \#
      such an item nor store
      its password again. git deletes it if a server refused this password, and `coffer undelete` brings it back.

      The host of a URL stands behind its last `@`. A URL with an `@` behind the first `/`, `?` or `#`, or with a `%` in its \#
      host, has none:
      programs read it in different ways. A user in the URL counts as named. Without one the active login is meant, else the \#
      item written last. A
      login and the item of a host are given to no URL of `http`. If nothing is stored, or all has expired, the command \#
      exits with 1 and says
      which. A token that does not fit in the line of a program's protocol exits with 77.
      """#)

  private static let aws = HelpTopic.Part(
    page: "CommandLineCredentials", section: "aws",
    text: #"""
      In `~/.aws/config`:

      ```ini
      [profile work]
      credential_process = coffer helper aws work
      ```

      The item has the service `aws` and the profile as its account, as `coffer import --from aws` makes it: the value is \#
      the secret key,
      `aws_access_key_id` an attribute, `aws_session_token` a field. Without a word the profile is `default`. If the item or \#
      the session
      token expires, aws gets the date, and asks again then.

      ```sh
      coffer set aws/work --attribute aws_access_key_id=AKIAEXAMPLE
      ```
      """#)

  private static let kubectl = HelpTopic.Part(
    page: "CommandLineCredentials", section: "kubectl",
    text: #"""
      In `~/.kube/config`:

      ```yaml
      users:
      - name: ada
        user:
          exec:
            apiVersion: client.authentication.k8s.io/v1
            command: coffer
            args: [helper, kubectl, k8s.example.com, ada]
            interactiveMode: IfAvailable
            provideClusterInfo: false
      ```

      The token is that of the host, URL or item, with its expiry. Without a name it is that of the cluster's server, which \#
      kubectl names with
      `provideClusterInfo: true`. `v1` and `v1beta1` are spoken; another version exits with 77. If kubectl has no terminal \#
      to lend, nobody is
      asked.
      """#)

  private static let questions = HelpTopic.Part(
    page: "CommandLineCredentials", section: "Questions of ssh and git",
    text: #"""
      In the profile of your shell, and then once for each secret:

      ```sh
      export SSH_ASKPASS=~/.local/bin/coffer-askpass
      export SSH_ASKPASS_REQUIRE=force
      export GIT_ASKPASS=~/.local/bin/coffer-askpass
      coffer set --service ssh-key:$HOME/.ssh/id_ed25519
      coffer set --service ssh://build.example.com --account ada
      ```

      Both start a program with the question as its only word: `coffer install` puts `coffer-askpass` beside `coffer`. The \#
      passphrase of a private
      key is the item `ssh-key:PATH` (the absolute path, else the one in the question), a password at a machine the item \#
      `ssh://HOST` of the user.
      git gets the user and the password of the URL in its question; with its helper (`coffer help git`) it does not ask.

      Every other question, such as whether to trust a host, is refused with 77, which ssh takes for no. OpenSSH 8.5 or \#
      newer is needed: older
      ones hand on a server's question as their own, and are refused. ssh asks three times for a password, and each time \#
      gets the stored one, even
      if that is wrong. After a wrong passphrase `ssh-add` asks again and again; the second question exits with 1, and ends \#
      that. A locked vault
      asks at the terminal, or by the program of `COFFER_ASKPASS`.
      """#)

  private static let cargo = HelpTopic.Part(
    page: "CommandLineCredentials", section: "cargo",
    text: #"""
      In `~/.cargo/config.toml`:

      ```toml
      [registry]
      global-credential-providers = ["cargo-credential-coffer"]

      [registries.work]
      index = "sparse+https://crates.example.com/index/"
      credential-provider = ["cargo-credential-coffer", "crates.example.com", "ada"]
      ```

      cargo 1.74 and later starts `cargo-credential-coffer`, which `coffer install` puts beside `coffer`, and speaks version \#
      1 of its protocol. A
      token is the item `cargo-registry:INDEX-URL`, as in the keychains that cargo itself uses. A service and an account \#
      behind the program's name
      are another item: with the host of a login there is one token for both. `cargo login` stores, `cargo logout` removes. \#
      cargo gets a token's
      expiry. Errors are answers of the protocol, with status 0: `not-found`, `operation-not-supported`, and any other with \#
      its message.
      """#)

  private static let keyring = HelpTopic.Part(
    page: "CommandLineCredentials", section: "pip and uv",
    text: #"""
      The name once, and then:

      ```sh
      coffer install --keyring
      export PIP_KEYRING_PROVIDER=subprocess UV_KEYRING_PROVIDER=subprocess
      pip install --index-url https://ada@pypi.example.com/simple/ NAME
      uv pip install --index-url https://ada@pypi.example.com/simple/ NAME
      ```

      Both call a program of the name `keyring`: `get`, and `set` when pip was asked to save a password. `coffer install` \#
      makes that name with
      `--keyring` alone, as Python's own program has it too. `get` prints the password; with `--mode creds` a line with the \#
      user before it, with
      `--output json` an object. `set` takes the password from standard input, and replaces the item that `get` would print, \#
      else stores it
      under the given service and user. `del` removes. If there is nothing, `get` and `del` exit with 1.
      """#)

  private static let netrc = HelpTopic.Part(
    page: "CommandLineCredentials", section: "A netrc in memory",
    text: #"""
      Some programs look in `NETRC` by themselves, and others take an option:

      ```sh
      coffer run --netrc github.com -- sh -c 'curl --netrc-file "$NETRC" URL'
      coffer run --netrc github.com -- sh -c 'swift build --netrc-file "$NETRC"'
      coffer run --netrc proxy.example.com -- go mod download
      ```

      `--netrc` takes a host or a URL, perhaps with a user (`ada@github.com`), and may be repeated. A host without a scheme \#
      means `https`. An import
      of a netrc makes items of hosts, which are found again. A login without a name has the user `oauth2`. The command \#
      finds the path of a
      file in memory in `NETRC`, with a line `machine HOST login USER password TOKEN` for each; it is sealed, and gone with \#
      the command. Its
      number is the first behind those of `--fd` and `--file`: 3 if there are none. Programs read blanks, quotes and \#
      backslashes in a netrc in
      different ways: a host, user or token with one is refused, and so is an empty one. If a credential is missing or \#
      expired, nothing starts.
      """#)
}
