internal import ArgumentParser
internal import Coffer
internal import CofferDefaults
internal import CofferStorage
internal import CofferTerminal
internal import SystemPackage

/// Each file of the group lists its own commands, in the order of the help.
struct DefaultsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "defaults", abstract: "The plain store: preferences in property lists, in the spelling of macOS.",
    discussion: """
      Nothing here touches the vault, and nothing here is secret. Reading leaves no trace; a command that fails has changed \
      nothing. There is no global domain (-g, NSGlobalDomain) on Linux: it is refused, not made up.
      """,
    subcommands: [
      ReadingCommands.all, WritingCommands.all, SearchCommands.all, DomainFileCommands.all,
    ].flatMap(\.self))
}

extension Context {
  /// A domain for reading. It leaves no trace, but completes an interrupted move of a secret out of the domain.
  ///
  /// - Throws: `.damaged` for an invalid list, with the copy that could replace it.
  func domain(_ name: String) throws(StoreError) -> DefaultsStore {
    let store = try domainAsItLies(name)
    do throws(StoreError) {
      if try store.load(ReservedName.scrubPending) != nil { try places.openDefaults(name).close() }
    } catch { note("a secret that left domain '\(name)' can still be read in its files: \(error.what)") }
    return store
  }

  /// A domain for reading, with no change at all.
  func domainAsItLies(_ name: String) throws(StoreError) -> DefaultsStore {
    do { return try places.openDefaults(name, access: .readOnly) } catch {
      guard case .damaged = error.kind, error.place?.hasSuffix(".plist") == true else { throw error }
      let copy = places.defaults.appending(".\(name).plist.last-good")
      throw StoreError(
        .damaged, error.what, place: error.place,
        cure: FileFacts.exists(copy)
          ? "repair the file, or put \(copy) in its place, which is how coffer last wrote it; nothing was changed"
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
      .notFound, "nothing is stored in domain '\(domain)'", key: key, cure: "coffer defaults read \(domain) shows what is")
  }

  /// The content of every domain by name. An unreadable domain does not hide the others: its error is thrown after the call
  /// of `body`.
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
