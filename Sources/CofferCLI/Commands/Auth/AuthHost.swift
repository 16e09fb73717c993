/// The name of a host on the command line.
enum AuthHost {
  /// The host, in lower case: names of hosts have no case (RFC 4343).
  static func check(_ text: String) throws(Failure) -> String {
    guard !text.contains("/"), !text.contains(where: \.isWhitespace), !text.isEmpty else {
      throw .usage("a host is a name, not a URL", try: "github.com, without https:// and a path")
    }
    return text.lowercased()
  }
}
