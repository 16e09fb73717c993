package struct CSVLayout {
  /// The content of a column. Without a role it becomes a secret field of its name.
  enum Role {
    case title, user, url, urls, password, notes, oneTime, folder, tags, kind, lines, created, modified
    case attribute(String)
    /// A tag, if the cell is `true` or `1`.
    case mark(String)
    /// Of use to the other program alone: an icon, an id, the last use in a form.
    case nothing
  }

  package let name: String
  /// The columns that identify the program's files, in lower case.
  package let signs: Set<String>
  /// The roles by column, in lower case.
  let roles: [String: Role]
  var hasBackslashes = false
  package var trash: Set<String> = []

  package func fits(_ columns: [String]) -> Bool { signs.isSubset(of: columns.map { $0.lowercased() }) }

  /// Chrome, Chromium, Edge, Brave, Opera and Vivaldi. Source:
  /// `components/password_manager/core/browser/export/password_csv_writer.cc`.
  package static let chrome = CSVLayout(
    name: "Chrome", signs: ["name", "url", "username", "password"],
    roles: ["name": .title, "url": .url, "username": .user, "password": .password, "note": .notes])

  /// Source: `toolkit/components/passwordmgr/LoginExport.sys.mjs`.
  package static let firefox = CSVLayout(
    name: "Firefox", signs: ["url", "username", "password", "httprealm", "guid"],
    roles: [
      "url": .url, "username": .user, "password": .password, "httprealm": .attribute("realm"),
      "formactionorigin": .attribute("form"), "guid": .nothing, "timecreated": .created, "timelastused": .nothing,
      "timepasswordchanged": .modified,
    ])

  /// Source: bitwarden.com/help/condition-bitwarden-import.
  package static let bitwarden = CSVLayout(
    name: "Bitwarden", signs: ["name", "login_uri", "login_username", "login_password"],
    roles: [
      "folder": .folder, "collections": .folder, "favorite": .mark("favorite"), "type": .kind, "name": .title, "notes": .notes,
      "fields": .lines, "reprompt": .nothing, "archiveddate": .attribute("archived"), "login_uri": .urls, "login_username": .user,
      "login_password": .password, "login_totp": .oneTime,
    ])

  /// Source: what 1Password 8 writes; support.1password.com/export.
  package static let onePassword = CSVLayout(
    name: "1Password", signs: ["title", "url", "username", "password", "archived"],
    roles: [
      "title": .title, "url": .url, "username": .user, "password": .password, "otpauth": .oneTime,
      "favorite": .mark("favorite"), "archived": .mark("archived"), "tags": .tags, "notes": .notes,
    ])

  /// Source: KeePassXC, `src/format/CsvExporter.cpp`.
  package static let keePassXC = CSVLayout(
    name: "KeePassXC", signs: ["group", "title", "username", "password", "url", "notes"],
    roles: [
      "group": .folder, "title": .title, "username": .user, "password": .password, "url": .url, "notes": .notes, "totp": .oneTime,
      "icon": .nothing, "last modified": .modified, "created": .created,
    ], trash: ["Recycle Bin"])

  /// Source: keepass.info/help/base/importexport.html, "KeePass CSV (1.x)".
  package static let keePass = CSVLayout(
    name: "KeePass", signs: ["account", "login name", "password", "web site", "comments"],
    roles: ["account": .title, "login name": .user, "password": .password, "web site": .url, "comments": .notes],
    hasBackslashes: true)
}
