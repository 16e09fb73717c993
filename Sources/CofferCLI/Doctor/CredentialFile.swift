internal import Coffer
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

  func holdsSecret(_ text: String) -> Bool {
    text.split(whereSeparator: \.isNewline).contains { line in
      line.contains(sign) && !(variable.map(line.contains) ?? false)
    }
  }

  /// The files of a user whose home is `home` and whose settings are in `config`, and the files `git` of git's `store`.
  static func known(home: FilePath, config: FilePath, git: [FilePath]) -> [CredentialFile] {
    let git = git.map { path in
      CredentialFile(
        path: path, sign: "@", variable: nil, owner: "git keeps passwords",
        cure: "coffer vault import --from git-credentials \(path); coffer install, which names git's setting; remove the file",
        format: .gitCredentials)
    }
    return git + [
      CredentialFile(
        path: home.appending(".docker").appending("config.json"), sign: "\"auth\":", variable: nil,
        owner: "docker keeps passwords",
        cure: "coffer vault import --from docker; coffer install; in the file \"credsStore\": \"coffer\" and no \"auths\"",
        format: .docker),
      CredentialFile(
        path: home.appending(".netrc"), sign: "password", variable: nil, owner: "curl and others find passwords",
        cure: "coffer vault set netrc --file ~/.netrc; coffer run --file NETRC=coffer://netrc -- "
          + "sh -c 'curl --netrc-file \"$NETRC\" …'; remove the file", format: .netrc,
        afterwards: "coffer inject makes a netrc of a template with references"),
      CredentialFile(
        path: home.appending(".npmrc"), sign: "_authToken=", variable: "${", owner: "npm keeps a token",
        cure: "coffer vault set npm; _authToken=${NPM_TOKEN} in the file; coffer run --env NPM_TOKEN=coffer://npm -- npm …"),
      CredentialFile(
        path: home.appending(".pypirc"), sign: "password", variable: nil, owner: "twine keeps a password",
        cure: "coffer vault set pypi; coffer run --env TWINE_PASSWORD=coffer://pypi -- twine …; remove the line"),
      CredentialFile(
        path: home.appending(".aws").appending("credentials"), sign: "aws_secret_access_key", variable: nil,
        owner: "aws keeps a key",
        cure: "coffer vault import --from aws; coffer run --env AWS_SECRET_ACCESS_KEY=coffer://aws/default … -- aws …; "
          + "remove the line", format: .aws,
        afterwards: "coffer run --env AWS_ACCESS_KEY_ID=… --env AWS_SECRET_ACCESS_KEY=coffer://aws/PROFILE -- aws …"),
      CredentialFile(
        path: config.appending("gh").appending("hosts.yml"), sign: "oauth_token:", variable: nil, owner: "gh keeps a token",
        cure: "coffer vault import --from gh; coffer run --env GH_TOKEN=coffer://github.com -- gh …; gh auth logout", format: .gh,
        afterwards: "coffer run --env GH_TOKEN=coffer://github.com -- gh …"),
    ]
  }
}
