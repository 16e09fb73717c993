internal import Coffer
package import CofferMemory
internal import CofferStorage
internal import CofferTerminal

/// The content of a pass or gopass entry: the password in the first line, and below it conventional text.
///
/// `user:`, `url:` and `otpauth:` (or a bare `otpauth://` URI) become attributes and the field `otpauth`, each other
/// `name: value` a field, the rest the field `notes`. A pass entry without any of the three is one secret of several lines,
/// such as a key, and stays whole. gopass itself reads every `name: value` as a part of the entry, and text after `---` as
/// YAML.
///
/// Source: passwordstore.org, "Data Organization"; github.com/gopasspw/gopass, `docs/secrets.md`.
package struct PassBody {
  package enum Style { case pass, gopass }

  private enum Part {
    case user, url, oneTime, other
    init(_ name: String) {
      switch name.lowercased() {
      case "user", "username", "login": self = .user
      case "url", "website", "link": self = .url
      case "otpauth", "totp", "otp": self = .oneTime
      default: self = .other
      }
    }
  }

  private struct Line {
    let name: String
    var value: Range<Int>
  }

  private let raw: UnsafeRawBufferPointer
  private var parts: [Line] = []
  /// The lines outside named parts.
  private var rest: [Range<Int>] = []
  private var hasKnownPart = false

  /// The first line in entries of old gopass, which keep the password among the other lines.
  private static let oldMark = "GOPASS-SECRET-1.0"

  package static func read(_ content: borrowing SecretBytes, style: Style, into entry: inout ImportedEntry) throws {
    try content.withUnsafeBytes { raw in
      var body = PassBody(raw: raw)
      let first = raw.prefix { $0 != 0x0A }
      // pass-otp writes an entry that is only the URI.
      let isCode = first.starts(with: OneTimeURI.scheme)
      if !first.starts(with: "-----BEGIN".utf8) { body.split(from: isCode ? first.startIndex : first.endIndex + 1, style) }
      guard body.hasKnownPart || style == .gopass && !body.parts.isEmpty else {
        entry.value = SecretForm(try content.withoutNewlineOfOneLine())
        return
      }
      let isOld = first.elementsEqual(oldMark.utf8)
      entry.value = isOld || isCode || first.elementsEqual("---".utf8) ? nil : try .copy(Self.line(first))
      try body.fill(&entry, isOld: isOld)
    }
  }

  private static func line(_ line: TextLines.Line) -> TextLines.Line { line.last == 0x0D ? line.dropLast() : line }

  private mutating func split(from start: Int, _ style: Style) {
    for (_, line) in TextLines(raw) where line.startIndex >= start {
      if line.starts(with: OneTimeURI.scheme) {
        add(Line(name: OneTimeURI.field, value: line.indices))
      } else if let part = Self.part(line), style == .gopass || !part.value.isEmpty {
        add(part)
      } else if style == .gopass, line.first == 0x20 || line.first == 0x09, var last = parts.popLast() {
        // In YAML an indented line belongs to the name above it.
        last.value = (last.value.isEmpty ? line.startIndex : last.value.lowerBound)..<line.endIndex
        parts.append(last)
      } else if style == .pass || !line.elementsEqual("---".utf8) {
        rest.append(line.indices)
      }
    }
  }

  private mutating func add(_ part: Line) {
    parts.append(part)
    switch Part(part.name) {
    case .user, .url, .oneTime: hasKnownPart = true
    case .other: break
    }
  }

  /// `name: value`; neither a sentence with a colon nor an address.
  private static func part(_ line: TextLines.Line) -> Line? {
    guard let (name, value) = line.parted(at: ":"), value.isEmpty || value.first == 0x20 || value.first == 0x09 else {
      return nil
    }
    guard let first = name.first, first > 0x20, name.count <= 40, name.count(where: { $0 == 0x20 }) <= 2 else { return nil }
    return Line(name: name.word, value: value.trimmed.indices)
  }

  private func fill(_ entry: inout ImportedEntry, isOld: Bool) throws {
    for part in parts {
      let value = try SecretForm.copy(raw[part.value])
      switch Part(part.name) {
      case .user: entry.say(value?.plainText ?? "", as: "user")
      case .url: if let value { entry.urls.append(value.plainText) }
      case .oneTime: try entry.takeSeed(OneTimeSeed(value), as: part.name)
      case .other where isOld && part.name.lowercased() == "password" && entry.value == nil: entry.value = value
      case .other: entry.add(value, as: part.name)
      }
    }
    let notes = try SecretBytes.written { (put) throws(StoreError) in
      let lines = rest.drop { $0.isEmpty }
      for (index, line) in lines.enumerated() {
        if index > 0 { put(0x0A) }
        raw[line].forEach(put)
      }
    }
    entry.add(SecretForm(notes), as: "notes")
  }
}
