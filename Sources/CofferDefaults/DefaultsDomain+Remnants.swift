package import CofferPlatform
package import CofferStorage
internal import FoundationEssentials
package import SystemPackage

extension DefaultsDomain {
  /// Every readable value in the domain's files, valid or not: in the list and its copies, a dead fold's remains, and old
  /// journal records. A name is the text before a value.
  ///
  /// - Throws: `.denied`, `.io`.
  package func remnants() throws(StoreError) -> [(file: FilePath, name: String, form: PlainForm)] {
    let files = try ListFiles(resolving: file, makingFolder: false)
    guard try FileStatus(at: files.folder) != nil else { return [] }
    let names: [String]
    do { names = try FileManager.default.contentsOfDirectory(atPath: files.folder.string) } catch {
      throw StoreError(
        .denied, "could not list the folder", place: files.folder.string, cure: "check its owner and mode", underlying: error)
    }
    let copies = names.filter {
      $0.hasPrefix("\(files.list.lastName ?? "").damaged-") || $0.hasSuffix(ListFiles.draftSuffix)
    }
    var found: [(file: FilePath, name: String, form: PlainForm)] = []
    for file in [files.list, files.lastGood, files.journal] + copies.sorted().map({ files.folder.appending($0) }) {
      guard let data = FileManager.default.contents(atPath: file.string) else { continue }  // Gone, or no file.
      found += (file == files.journal ? Self.values(ofJournal: data) : Self.values(ofList: data)).map { (file, $0, $1) }
    }
    return found
  }

  private static func values(ofList data: Data) -> [(String, PlainForm)] {
    do throws(PropertyList.Failure) { return try PropertyList.decode(data).values.map { ($0, $1) } } catch {}
    let tags: Set = ["key", "string", "data", "dict", "array"]
    return pairs(
      data.split { $0 < 0x20 || $0 == UInt8(ascii: "<") || $0 == UInt8(ascii: ">") }
        .map { String(decoding: $0, as: UTF8.self) }.filter { !tags.contains($0) && !$0.hasPrefix("/") })
  }

  /// Finds length-prefixed text even where a newer record has overwritten the bytes before it.
  private static func values(ofJournal data: Data) -> [(String, PlainForm)] {
    var (texts, index) = ([String](), 0)
    data.withUnsafeBytes { bytes in
      while index < bytes.count {
        var input = ByteReader(UnsafeRawBufferPointer(rebasing: bytes[index...]))
        let text = input.text().flatMap { $0.isEmpty || $0.utf8.contains { $0 < 0x20 } ? nil : $0 }
        if let text { texts.append(text) }
        index += text.map { 4 + $0.utf8.count } ?? 1
      }
    }
    return pairs(texts)
  }

  private static func pairs(_ texts: [String]) -> [(String, PlainForm)] { zip([""] + texts, texts).map { ($0, .string($1)) } }
}
