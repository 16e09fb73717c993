/// A place in a value: a chain from the innermost step out, so that a deeper level costs no copy of the path.
indirect enum CodingPlace {
  case top
  case member(any CodingKey, of: CodingPlace)
  case element(Int, of: CodingPlace)

  var codingPath: [any CodingKey] {
    switch self {
    case .top: []
    case .member(let key, let outer): outer.codingPath + [key]
    case .element(let index, let outer): outer.codingPath + [ElementKey(index)]
    }
  }
}

/// The key of an array's element, and of a superclass's part.
struct ElementKey: CodingKey {
  let stringValue: String
  let intValue: Int?

  init(_ index: Int) {
    stringValue = "\(index)"
    intValue = index
  }
  init(stringValue: String) {
    self.stringValue = stringValue
    intValue = nil
  }
  init(intValue: Int) { self.init(intValue) }

  /// `Codable`'s name for the part of a superclass.
  static let superclass = ElementKey(stringValue: "super")
}

extension [any CodingKey] {
  /// `at window.frames[2]`, for messages; empty at the top. Declared field names, which are cases of an enum, are written
  /// out. A dictionary's own keys are data and show as `*`.
  var described: String {
    guard !isEmpty else { return "" }
    return " at "
      + enumerated().map { position, key in
        if let index = key.intValue { return "[\(index)]" }
        let isDeclared = Mirror(reflecting: key).displayStyle == .enum || key is ElementKey
        return (position == 0 ? "" : ".") + (isDeclared ? key.stringValue : "*")
      }.joined()
  }
}
