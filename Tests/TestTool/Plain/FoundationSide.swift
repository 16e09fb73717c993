internal import Foundation

/// Foundation's `UserDefaults` over the domain's suite. The parent sets `XDG_CONFIG_HOME`.
enum FoundationSide {
  static func write(_ domain: String) {
    guard let defaults = UserDefaults(suiteName: domain) else { exit(2) }
    defaults.set(true, forKey: "yes")
    defaults.set(false, forKey: "no")
    defaults.set(1, forKey: "one")
    defaults.set(0, forKey: "zero")
    defaults.set(-42, forKey: "negative")
    defaults.set(Int.min, forKey: "least")
    defaults.set(Int.max, forKey: "greatest")
    defaults.set(NSNumber(value: UInt64.max), forKey: "unsigned")
    defaults.set(Float(0.1), forKey: "float")
    defaults.set(0.1, forKey: "double")
    defaults.set(1.0, forKey: "whole")
    defaults.set("größer <&> \"😀\"\r\n\ttab", forKey: "string")
    defaults.set(Date(timeIntervalSinceReferenceDate: 726_000_000), forKey: "date")
    defaults.set(Data([0, 1, 255]), forKey: "data")
    defaults.set(URL(fileURLWithPath: "/tmp/a b"), forKey: "url")
    defaults.set([1, true, 2.5, "x", ["k": [Data([7])]]] as [Any], forKey: "array")
    defaults.set(["a": ["b": ["c": 1]], "t": true] as [String: Any], forKey: "dictionary")
    defaults.synchronize()
  }

  static func set(_ domain: String, _ key: String, _ number: Int) {
    guard let defaults = UserDefaults(suiteName: domain) else { exit(2) }
    defaults.set(number, forKey: key)
    defaults.synchronize()
  }

  /// Prints one line for each key, by the getter that Foundation's users would call.
  static func read(_ domain: String) {
    guard let defaults = UserDefaults(suiteName: domain) else { exit(2) }
    for key in ["yes", "no"] { print(key, defaults.bool(forKey: key), kind(defaults.object(forKey: key))) }
    for key in ["one", "zero", "negative", "least", "greatest"] {
      print(key, defaults.integer(forKey: key), kind(defaults.object(forKey: key)))
    }
    print("unsigned", (defaults.object(forKey: "unsigned") as? NSNumber)?.uint64Value ?? 0)
    print("float", defaults.float(forKey: "float"))
    for key in ["double", "whole"] { print(key, defaults.double(forKey: key), kind(defaults.object(forKey: key))) }
    print("string", (defaults.string(forKey: "string") ?? "").debugDescription)
    print("date", (defaults.object(forKey: "date") as? Date)?.timeIntervalSinceReferenceDate ?? 0)
    print("data", Array(defaults.data(forKey: "data") ?? Data()))
    print("url", defaults.url(forKey: "url")?.path ?? "none")
    let array = defaults.array(forKey: "array") ?? []
    print("array", array.map { kind($0) })
    let inner = ((defaults.dictionary(forKey: "dictionary")?["a"] as? [String: Any])?["b"] as? [String: Any])?["c"] as? Int
    print("dictionary", inner ?? 0)
  }

  private static func kind(_ value: Any?) -> String {
    switch value {
    case let number as NSNumber: String(cString: number.objCType)
    case is String: "string"
    case is [Any]: "array"
    case is [String: Any]: "dictionary"
    case nil: "nothing"
    default: "other"
    }
  }
}
