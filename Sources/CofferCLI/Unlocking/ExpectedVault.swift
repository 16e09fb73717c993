internal import Coffer

/// `COFFER_EXPECT_VAULT=ID[:GENERATION]`: a machine without a rollback pin still knows which vault it must find, and how new
/// it must be.
struct ExpectedVault: Equatable {
  let id: String
  let generation: UInt64?

  static func fromEnvironment() throws -> ExpectedVault? {
    guard let text = ProcessEnvironment.value("COFFER_EXPECT_VAULT") else { return nil }
    return try ExpectedVault(text)
  }

  init(_ text: String) throws(Failure) {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let digits = parts[0].lowercased()
    guard parts.count <= 2, digits.count == 32, digits.allSatisfy(\.isHexDigit) else { throw Self.malformed }
    id = digits
    generation = parts.count == 2 ? UInt64(parts[1]) : nil
    guard parts.count == 1 || generation != nil else { throw Self.malformed }
  }

  func check(_ found: VaultID, at path: FilePath) throws(StoreError) {
    guard found.description != id else { return }
    throw StoreError(
      .replaced, "vault \(found) stands where COFFER_EXPECT_VAULT says \(id)", place: path.string,
      cure: "put the expected vault back, or change COFFER_EXPECT_VAULT if this one is right")
  }

  /// The id as the library has it.
  var vault: VaultID? { VaultID(id) }

  private static let malformed = Failure.usage(
    "COFFER_EXPECT_VAULT is not a vault's id", try: "32 hexadecimal digits, and a colon and a generation if wanted")
}
