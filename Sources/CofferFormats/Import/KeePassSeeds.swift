internal import CofferStorage

/// The seeds of one-time passwords in a KeePass entry. Each program of that family keeps one under a name of its own, so an
/// entry may hold several.
///
/// Sources: KeePassXC, `src/totp/Totp.cpp`; keepass.info/help/base/placeholders.html, "One-time passwords".
struct KeePassSeeds {
  /// The names of seeds and of their settings: in KeePassXC, in older KeePassXC and plugins, and in KeePass 2.47.
  private static let kinds: [(seed: String, settings: [String])] = [
    ("otp", []), ("TOTP Seed", ["TOTP Settings"]),
    ("TimeOtp-Secret-Base32", ["TimeOtp-Period", "TimeOtp-Length", "TimeOtp-Algorithm"]),
  ]
  /// Seeds in another form than Base32 and seeds of counter-based codes, which KeePass 2.47 keeps as well.
  private static let others: Set = [
    "TimeOtp-Secret", "TimeOtp-Secret-Hex", "TimeOtp-Secret-Base64", "HmacOtp-Secret", "HmacOtp-Secret-Hex",
    "HmacOtp-Secret-Base32", "HmacOtp-Secret-Base64",
  ]
  private static let algorithms = ["HMAC-SHA-1": "SHA1", "HMAC-SHA-256": "SHA256", "HMAC-SHA-512": "SHA512"]

  private var seeds: [(key: String, secret: SecretForm)] = []
  private var settings: [(key: String, value: String)] = []

  /// False if `key` does not concern one-time passwords.
  package mutating func take(_ key: String, _ value: SecretForm) -> Bool {
    if Self.others.contains(key) || Self.kinds.contains(where: { $0.seed == key }) {
      seeds.append((key, value))
    } else if Self.kinds.contains(where: { $0.settings.contains(key) }) {
      settings.append((key, value.plainText))
    } else {
      return false
    }
    return true
  }

  /// Settings that the item's codes do not use become attributes.
  func add(to entry: inout ImportedEntry) throws {
    var said = settings
    for kind in Self.kinds {
      let own = settings.filter { kind.settings.contains($0.key) }
      for seed in seeds where seed.key == kind.seed {
        guard let made = Self.made(seed.secret, own) else {
          entry.addOtherSeed(seed.secret, as: seed.key)
          continue
        }
        try entry.takeSeed(made, as: seed.key)
        if entry.oneTime?.isSame(as: made) ?? false { said.removeAll { kind.settings.contains($0.key) } }
      }
    }
    for seed in seeds where Self.others.contains(seed.key) { entry.addOtherSeed(seed.secret, as: seed.key) }
    for (key, value) in said { entry.say(value, as: key) }
  }

  /// Nil if this version cannot make its codes.
  private static func made(_ secret: SecretForm, _ settings: [(key: String, value: String)]) -> OneTimeSeed? {
    var (period, digits, algorithm) = (Int?.none, Int?.none, String?.none)
    for (key, value) in settings {
      switch key {
      case "TOTP Settings":
        // Some plugins add a time server as the third part.
        let parts = value.split(separator: ";", omittingEmptySubsequences: false)
        guard 2...3 ~= parts.count else { return nil }
        (period, digits) = (number(parts[0], OneTimePassword.periods), number(parts[1], OneTimePassword.digitCounts))
        guard period != nil, digits != nil else { return nil }
      case "TimeOtp-Period":
        period = number(value[...], OneTimePassword.periods)
        guard period != nil else { return nil }
      case "TimeOtp-Length":
        digits = number(value[...], OneTimePassword.digitCounts)
        guard digits != nil else { return nil }
      default:
        algorithm = algorithms[value]
        guard algorithm != nil else { return nil }
      }
    }
    return OneTimeSeed(secret, period: period, digits: digits, algorithm: algorithm)
  }

  private static func number(_ text: Substring, _ range: ClosedRange<Int>) -> Int? {
    Int(text).flatMap { range ~= $0 ? $0 : nil }
  }
}
