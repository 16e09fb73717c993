internal import CofferStorage
package import CofferTerminal
package import FoundationEssentials

package enum Attributes {
  package static func parse(_ pairs: [String]) throws -> [String: String] {
    var attributes: [String: String] = [:]
    for pair in pairs {
      guard let (name, value) = pair.nameAndValue else {
        throw Failure.usage("an attribute is not name=value", try: "--attribute env=production")
      }
      try checkFree(name)
      guard attributes.updateValue(value, forKey: name) == nil else {
        throw Failure.usage("the attribute '\(name)' was given twice", try: "one value for each name")
      }
    }
    return attributes
  }

  /// Equal names are replaced.
  package static func merge(_ new: [String: String], into attributes: inout [String: String]) {
    for (name, value) in new {
      // Assignment alone would keep the old key, which may be another Unicode spelling of the same name.
      attributes[name] = nil
      attributes[name] = value
    }
  }

  package static func checkFree(_ name: String) throws(Failure) {
    guard ItemMetadata.isOwn(attribute: name) else { return }
    throw .usage("the attributes '\(Printable.line(name))' are reserved", try: "another name")
  }
}

/// `--type`: the media type by which programs show a value.
package enum MediaType {
  /// - Throws: a usage failure for an invalid media type; empty means none. Source: RFC 6838, section 4.2.
  package static func check(_ type: String) throws(Failure) {
    let essence = type.prefix { $0 != ";" }
    let parts = essence.split(separator: "/", omittingEmptySubsequences: false)
    let signs = "()<>@,;:\\\"[]?=".utf8
    let isSound =
      parts.count == 2
      && parts.allSatisfy { part in
        1...127 ~= part.utf8.count && part.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F && !signs.contains($0) }
      }
    guard type.isEmpty || isSound else {
      throw .usage("'\(Printable.line(type))' is not a media type", try: "--type text/plain, application/json or the like")
    }
  }
}

/// `--expires`: a moment, a day, a time from now, never, or unchanged.
package enum Expiry: Equatable {
  case at(Date), never, keep

  package var date: Date? { if case .at(let date) = self { date } else { nil } }

  package init(_ text: String) throws(Failure) {
    switch text {
    case "never": self = .never
    case "keep": self = .keep
    default: self = .at(try Self.parse(text))
    }
  }

  private static let seconds: [Character: Double] = ["s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 604_800]

  package static func parse(_ text: String, of option: String = "--expires", now: Date = Date()) throws(Failure) -> Date {
    guard let moment = relative(text, now) ?? Moment.parse(text) else {
      throw .usage(
        "\(option) is neither a time from now nor a date",
        try: "30d, 12h, 2026-12-31, 2026-12-31T18:00:00Z\(option == "--expires" ? ", never or keep" : "")")
    }
    guard moment > now else { throw .usage("\(option) is in the past", try: "a later moment") }
    return moment
  }

  private static func relative(_ text: String, _ now: Date) -> Date? {
    guard let unit = text.last.flatMap({ seconds[$0] }), let count = UInt32(text.dropLast()), count > 0 else { return nil }
    return now.addingTimeInterval(Double(count) * unit)
  }
}
