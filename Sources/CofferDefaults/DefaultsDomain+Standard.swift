extension DefaultsDomain {
  /// The name of the domain that Foundation's `UserDefaults.standard` uses on Linux: the executable's.
  public static var standardName: String {
    let program = CommandLine.arguments.first ?? ""
    return program.split(separator: "/").last.map(String.init) ?? "coffer"
  }
}
