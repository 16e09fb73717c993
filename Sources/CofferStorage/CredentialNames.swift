extension StoredName {
  private static let wholeWords: Set<String> = [
    "password", "passwd", "passphrase", "secret", "token", "credential", "credentials", "apikey", "privatekey", "accesskey",
    "passcode", "bearer", "jwt", "pin",
  ]
  /// Endings of compound words: `githubtoken`.
  private static let endings = ["password", "passphrase", "secret", "token", "apikey", "privatekey", "accesskey"]
  private static let pairs: Set<[String]> = [
    ["api", "key"], ["private", "key"], ["access", "key"], ["secret", "key"], ["signing", "key"], ["encryption", "key"],
    ["auth", "key"], ["pass", "word"], ["pass", "phrase"],
  ]

  /// Whether `name` reads like that of a credential: `github_token`, `apiKey`, `smtp.password`. So does a preference about
  /// one, such as `token_expiry`: use this for a report, not for a refusal.
  public static func looksLikeCredential(_ name: String) -> Bool {
    let words = words(of: name)
    return words.contains { word in wholeWords.contains(word) || endings.contains { word.hasSuffix($0) } }
      || zip(words, words.dropFirst()).contains { pairs.contains([$0, $1]) }
  }

  /// From `snake_case`, `camelCase`, `kebab-case` and `dotted.names`, in lower case.
  private static func words(of name: String) -> [String] {
    var words: [String] = [], word = ""
    var wasLower = false
    for character in name {
      if !character.isLetter || (character.isUppercase && wasLower) {
        words.append(word)
        word = ""
      }
      wasLower = character.isLowercase
      if character.isLetter { word += character.lowercased() }
    }
    return (words + [word]).filter { !$0.isEmpty }
  }
}
