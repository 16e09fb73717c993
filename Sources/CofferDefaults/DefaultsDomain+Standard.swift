extension DefaultsDomain {
  /// The domain of Foundation's `UserDefaults.standard` on Linux: the executable's name.
  public static var standardName: String {
    let program = CommandLine.arguments.first ?? ""
    return program.split(separator: "/").last.map(String.init) ?? "coffer"
  }
}
