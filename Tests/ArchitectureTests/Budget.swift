/// How large and how entangled Coffer may be. A change that needs more raises a figure here, in its own commit.
enum Budget {
  // Lines of .swift, .c and .h; of code, if neither blank nor only a comment.
  static let sourceLines = 81_850
  static let codeLines = 61_750
  static let testLines = 70_350
  static let largestTarget = 19_500
  /// The code that decides whether a thief learns nothing and an edit is found.
  static let trustedCoreLines = 8_000
  static let trustedCore = [
    "CofferMemory/", "CofferVault/Bytes/", "CofferVault/Crypto/", "CofferVault/Lineage/", "CofferVault/Format/",
    "CofferVault/Slot/",
  ]

  /// Files of a target in one circle of references. Folders are in none: each is a floor that uses only those below.
  static let fileCircle = 20
  /// Members that a file of the vault's engine can see: those of its target that are not private.
  static let engineMembers = 1_650
  static let storeRequirements = 21

  static let trackedFiles = 2_000
  static let commentWords = 186_200
  /// Clauses in the comments of Sources that begin with what, who or whoever.
  static let clauses = 300
  static let linesOver130 = 188
  static let markdownWords = 67_080
}
