import Coffer
import CofferStorage
import CofferTestSupport
import CofferVault
import Foundation
import Testing

@testable import CofferCLI
@testable import CofferFormats

/// The files of other programs in `Fixtures/Imports`, all with invented secrets.
enum ImportFixture {
  static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
    .appending(path: "../../../Fixtures/Imports").standardized

  static let texts: [(file: String, format: ImportFormat)] = [
    ("bitwarden.json", .bitwarden), ("bitwarden.csv", .bitwarden), ("1password.csv", .onePassword), ("keepass.xml", .keepass),
    ("keepass1.csv", .keepass), ("keepassxc.csv", .keepass), ("chrome.csv", .chrome), ("firefox.csv", .firefox),
    ("netrc", .netrc),
    ("git-credentials", .gitCredentials), ("docker-config.json", .docker), ("aws-credentials", .aws), ("gh-hosts.yml", .gh),
  ]

  static func hasLibzip() throws -> Bool {
    do { _ = try ZipArchive(path("1password.1pux")) } catch let error as StoreError where error.kind == .notFound { return false }
    return true
  }

  static func needLibzip() throws {
    if try !hasLibzip() { try Test.skip(without: "libzip") }
  }

  static func path(_ name: String) -> String { folder.appending(path: name).path() }
  static func content(_ name: String) throws -> Data { try Data(contentsOf: folder.appending(path: name)) }

  static func secret(_ bytes: Data) throws -> SecretBytes { try Home.secret(bytes) }

  static func items(_ bytes: Data, _ format: ImportFormat) throws -> EntryItems {
    let text = try ImportText.read(secret(bytes), place: "file")
    return try EntryItems(format.entries(in: text, place: "file"), keeping: 10)
  }
}

extension EntryItems {
  /// `service/account` or `service/account#field`, and the value.
  var values: [String: String] {
    Dictionary(
      uniqueKeysWithValues: items.filter { !$0.isPrevious }.map { item in
        (
          "\(item.name.service)/\(item.name.account)" + (item.name.field.isEmpty ? "" : "#\(item.name.field)"),
          item.form.plainText
        )
      })
  }

  /// The previous versions of the only item that has any, oldest first.
  var former: [String] { items.filter(\.isPrevious).map(\.form.plainText) }

  func said(_ name: String) -> ItemMetadata? {
    items.first { "\($0.name.service)/\($0.name.account)" == name && $0.name.field.isEmpty }?.form.metadata
  }

  var reasons: [String] { leftOut.map { "\($0.entry) (\($0.reason))" } }
}
