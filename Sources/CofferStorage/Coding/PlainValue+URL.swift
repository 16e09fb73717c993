internal import CofferPlatform
public import FoundationEssentials

extension URL: NativePlainValue {
  /// A URL in any form that programs store: a path (from Foundation on Linux; a leading `~` is the home folder), the text of
  /// an absolute URL, or the keyed archive from Foundation on Apple systems.
  public init?(plainForm: PlainForm) {
    switch plainForm {
    case .string(let text), .argument(let text): self.init(stored: text)
    case .data(let archive): self.init(keyedArchive: archive)
    default: return nil
    }
  }

  /// The path of a file URL, so that Foundation's `url(forKey:)` reads it back; the text of any other.
  ///
  /// - Throws: ``/CofferPlatform/StoreError/Kind/unencodable`` for a URL without a scheme that begins with `/` or `~`: only
  ///   paths of files are stored this way.
  public func plainForm() throws -> PlainForm {
    guard !Self.isPath(absoluteString) else {
      throw StoreError(
        .unencodable, "the URL has no scheme and begins like a path, so it would be read as a file's URL",
        cure: "store it as text, or with its scheme and host")
    }
    let path = absoluteURL.path(percentEncoded: false)
    // Parts that a bare path cannot express (a host, a query, bytes that are not UTF-8) stay in the text.
    guard isFileURL, URL(filePath: path, directoryHint: .inferFromPath).absoluteString == absoluteString else {
      return .string(absoluteString)
    }
    return .string(path)
  }

  private static func isPath(_ text: String) -> Bool { text.hasPrefix("/") || text.hasPrefix("~") }

  private init?(stored text: String) {
    if Self.isPath(text) {
      self.init(filePath: text, directoryHint: .inferFromPath)
    } else {
      self.init(string: text)
    }
  }

  private init?(keyedArchive: Data) {
    do {
      let archive = try PropertyListDecoder().decode(KeyedArchive.self, from: keyedArchive)
      // Several strings are a URL relative to another. Only the archive's references tell which is which.
      guard archive.strings.count == 1 else { return nil }
      self.init(string: archive.strings[0])
    } catch { return nil }
  }
}

/// The strings of an `NSKeyedArchiver` archive, which one URL needs.
private struct KeyedArchive: Decodable {
  private enum CodingKeys: String, CodingKey { case objects = "$objects" }

  private struct Object: Decodable {
    let text: String?
    init(from decoder: any Decoder) throws {
      do { text = try decoder.singleValueContainer().decode(String.self) } catch { text = nil }
    }
  }

  let strings: [String]

  init(from decoder: any Decoder) throws {
    strings = try decoder.container(keyedBy: CodingKeys.self).decode([Object?].self, forKey: .objects).compactMap { $0?.text }
  }
}
