internal import SystemPackage

/// A file in which another program keeps credentials in the clear, by its own documentation.
struct CredentialFile {
  let path: FilePath
  /// The sign of a secret in the file, and the sign of a variable in its place.
  let sign: String, variable: String?
  /// The program and its content.
  let owner: String
  let cure: String
  /// The format by which its entries can move into the vault; nil if none can.
  var format: ImportFormat?
  /// The program's new source of the credentials; nil if a helper gives them.
  var afterwards: String?

  var program: Substring { owner.prefix { $0 != " " } }

  /// `password`, `token` or `key`, as in ``owner``.
  var noun: String {
    let word = owner.split(separator: " ").last ?? ""
    return String(word.hasSuffix("s") ? word.dropLast() : word)
  }

  func secrets(in text: String) -> Int {
    text.split(whereSeparator: \.isNewline).filter { !(variable.map($0.contains) ?? false) }
      .reduce(0) { $0 + (sign == "@" ? ($1.contains(sign) ? 1 : 0) : $1.ranges(of: sign).count) }
  }

  /// The user's settings are in `config`; `git` are the files of git's `store`.
  static func known(home: FilePath, config: FilePath, git: [FilePath]) -> [CredentialFile] {
    let git = git.map { path in
      CredentialFile(
        path: path, sign: "@", variable: nil, owner: "git keeps passwords",
        cure: "coffer import --from git-credentials \(path); coffer install, which names git's setting; remove the file",
        format: .gitCredentials)
    }
    return git + [
      CredentialFile(
        path: home.appending(".docker").appending("config.json"), sign: "\"auth\":", variable: nil,
        owner: "docker keeps passwords",
        cure: "coffer import --from docker; coffer install; in the file \"credsStore\": \"coffer\" and no \"auths\"",
        format: .docker),
      CredentialFile(
        path: home.appending(".netrc"), sign: "password", variable: nil, owner: "curl and others find passwords",
        cure: "coffer import --from netrc; coffer run --netrc HOST -- sh -c 'curl --netrc-file \"$NETRC\" …'; "
          + "remove the file", format: .netrc,
        afterwards: "coffer run --netrc HOST -- sh -c 'curl --netrc-file \"$NETRC\" …'"),
      CredentialFile(
        path: home.appending(".npmrc"), sign: "_authToken=", variable: "${", owner: "npm keeps a token",
        cure: "coffer set npm; _authToken=${NPM_TOKEN} in the file; coffer run --env NPM_TOKEN=coffer://npm -- npm …"),
      CredentialFile(
        path: home.appending(".pypirc"), sign: "password", variable: nil, owner: "twine keeps a password",
        cure: "coffer set pypi; coffer run --env TWINE_PASSWORD=coffer://pypi -- twine …; remove the line"),
      CredentialFile(
        path: home.appending(".aws").appending("credentials"), sign: "aws_secret_access_key", variable: nil,
        owner: "aws keeps a key",
        cure: "coffer import --from aws; credential_process = coffer helper aws PROFILE in place of the key's lines",
        format: .aws),
      CredentialFile(
        path: config.appending("gh").appending("hosts.yml"), sign: "oauth_token:", variable: nil, owner: "gh keeps a token",
        cure: "coffer import --from gh; coffer run --env GH_TOKEN=coffer://github.com -- gh …; gh auth logout", format: .gh,
        afterwards: "coffer run --env GH_TOKEN=coffer://github.com -- gh …"),
    ]
  }
}
