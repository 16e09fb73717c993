internal import Coffer

/// The items of an environment file: one account of a service for each variable.
enum EnvItems {
  /// - Parameter skipped: called with each variable whose value is a reference, which is no secret and stays in the file.
  static func read(
    _ file: borrowing SecretBytes, service: String, place: String, skipped: (String) -> Void
  ) throws -> [ImportedItem] {
    try EnvFile.read(file, place: place).compactMap { entry in
      let isReference = entry.value.bytes.withUnsafeBytes { $0.starts(with: Reference.scheme.utf8) }
      guard !isReference else {
        skipped(entry.name)
        return nil
      }
      let value = try entry.value.bytes.duplicate()
      let name: ItemName
      do throws(StoreError) { name = try ItemName(service: service, account: entry.name) } catch {
        throw error.ofImported("\(service)/\(entry.name)", place: place, line: entry.line)
      }
      return ImportedItem(
        name: name,
        form: SecretForm(value, metadata: ItemMetadata(contentType: "text/plain")))
    }
  }
}
