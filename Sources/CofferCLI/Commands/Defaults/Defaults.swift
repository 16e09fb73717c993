internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import CofferTerminal
internal import SystemPackage

struct DefaultsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "defaults", abstract: "Manage preferences in property lists, with the syntax of macOS.",
    discussion: """
      These commands never touch the vault, and nothing here is secret. Reading leaves no trace; a failed command changes \
      nothing. Linux has no global domain (-g, NSGlobalDomain): it is refused.
      """,
    subcommands: [
      DefaultsReadCommand.self, DefaultsReadTypeCommand.self, DefaultsWriteCommand.self, DefaultsDeleteCommand.self,
      DefaultsRenameCommand.self, DefaultsDomainsCommand.self, DefaultsFindCommand.self, DefaultsExportCommand.self,
      DefaultsImportCommand.self,
    ])
}

extension Context {
  /// For reading: leaves no trace, but completes an interrupted move of a secret out of the domain.
  ///
  /// - Throws: `.damaged` for an invalid list, with the copy that could replace it.
  func domain(_ name: String) throws(StoreError) -> DefaultsStore {
    let store = try domainAsItLies(name)
    do throws(StoreError) {
      if try store.load(ReservedName.scrubPending) != nil { try places.openDefaults(name).close() }
    } catch { note("a secret removed from domain '\(name)' can still be read in its files: \(error.what)") }
    return store
  }

  /// For reading, with no change at all.
  func domainAsItLies(_ name: String) throws(StoreError) -> DefaultsStore {
    do { return try places.openDefaults(name, access: .readOnly) } catch {
      guard case .damaged = error.kind, error.place?.hasSuffix(".plist") == true else { throw error }
      let copy = places.defaults.appending(".\(name).plist.last-good")
      throw StoreError(
        .damaged, error.what, place: error.place,
        cure: FileFacts.exists(copy)
          ? "repair the file, or replace it with \(copy), coffer's last version; nothing was changed"
          : "repair or restore the file; nothing was changed", underlying: error.underlying)
    }
  }

  func existingDomain(_ name: String) throws -> DefaultsStore {
    let store = try domain(name)
    // Values may still be in the journal alone, and a list may be empty.
    guard try FileFacts.exists(store.domain.file) || !store.names().isEmpty else {
      throw StoreError(.notFound, "there is no such domain", key: name, cure: "coffer defaults domains lists them")
    }
    return store
  }

  func value(of key: String, in domain: String) throws -> PlainForm {
    let store = try self.domain(domain)
    guard let form = try store.load(key) else { throw nothing(under: key, in: domain) }
    return form
  }

  func nothing(under key: String, in domain: String) -> StoreError {
    StoreError(
      .notFound, "nothing is stored in domain '\(domain)'", key: key, cure: "coffer defaults read \(domain) shows its keys")
  }

  /// By name. An unreadable domain does not hide the others: its error is thrown after `body`.
  func everyDomain(_ body: ([(name: String, values: [String: PlainForm])]) throws -> Void) throws {
    var contents: [(String, [String: PlainForm])] = []
    var failures: [StoreError] = []
    for found in try DefaultsDomain.list(in: places.defaults) {
      do { contents.append((found.name, try domain(found.name).contents())) } catch { failures.append(error) }
    }
    try body(contents)
    for failure in failures.dropFirst() { note(Failure(failure).text) }
    if let failure = failures.first { throw failure }
  }
}
