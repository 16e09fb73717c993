internal import CofferFormats
internal import CofferStorage
internal import CofferTerminal

struct RunPlan {
  /// A command's valid descriptors: 0 to 2 are its standard streams, and few systems have more than 1024.
  private static let descriptors: ClosedRange<Int32> = 3...1023
  /// The limit of an environment file in bytes: that of execve(2) on Linux.
  private static let largestFile = 2 << 20

  private enum Value {
    case reference(Reference)
    case literal(SecretForm)
  }

  /// The variables that pass this command's places to the started one.
  private let places: [String: String]
  private var variables: [(name: String, value: Value)] = []
  private var files: [(name: String, reference: Reference)] = []
  private var targets: [(number: Int32, reference: Reference)] = []

  init(env: [String], files: [String], descriptors: [String], envFiles: [String], netrc: Bool, _ context: Context) throws {
    places = context.variables
    for path in envFiles { try add(fileAt: path, context) }
    let replaced = Set(variables.map(\.name) + (env + files).compactMap { $0.nameAndValue?.name })
    for (name, reference) in Self.inherited where !replaced.contains(name) { variables.append((name, .reference(reference))) }
    var names: Set<String> = netrc ? [Netrc.variable] : []
    for (word, option) in env.map({ ($0, "--env") }) + files.map({ ($0, "--file") }) {
      let (name, reference) = try Self.split(word, option)
      guard names.insert(name).inserted else { throw Self.twice(name) }
      if option == "--env" { variables.append((name, .reference(reference))) } else { self.files.append((name, reference)) }
    }
    for word in descriptors {
      let (name, reference) = try Self.split(word, "--fd")
      guard let number = Int32(name), Self.descriptors.contains(number) else {
        throw Failure.usage("--fd takes a number from 3 to 1023 before the reference", try: "--fd 3=coffer://service/account")
      }
      guard !targets.contains(where: { $0.number == number }) else { throw Self.twice(name) }
      targets.append((number, reference))
    }
  }

  /// Variables of this process whose whole value is a reference.
  private static var inherited: [(name: String, reference: Reference)] {
    ProcessEnvironment.all.compactMap { name, value in
      guard Reference.isMeant(by: value) else { return nil }
      // A value that only begins like a reference belongs to another program, and is passed on.
      do throws(Failure) { return (name, try Reference(value)) } catch { return nil }
    }
  }

  var references: [Reference] {
    let inVariables = variables.compactMap { variable in
      if case .reference(let reference) = variable.value { reference } else { nil }
    }
    return inVariables + files.map(\.reference) + targets.map(\.reference)
  }

  func launch(_ words: [ByteWord], _ values: References, _ netrc: Netrc?) throws -> Launch {
    var environment = ChildEnvironment()
    for (name, place) in places { try environment.set(name, place) }
    for (name, value) in variables {
      switch value {
      case .reference(let reference): try environment.set(name, values[reference].bytes)
      case .literal(let form): try environment.set(name, form.bytes)
      }
    }
    // Unrequested numbers, above all requested ones.
    var next = (targets.map(\.number).max() ?? 2) + 1
    var opened: [(MemoryFile, Int32)] = []
    let floor = next + Int32(files.count) + (netrc == nil ? 0 : 1)
    for (number, reference) in targets { opened.append((try MemoryFile(values[reference].bytes, above: floor), number)) }
    for (name, reference) in files {
      opened.append((try MemoryFile(values[reference].bytes, above: floor), next))
      try environment.set(name, "/proc/self/fd/\(next)")
      next += 1
    }
    if let netrc {
      opened.append((try MemoryFile(netrc.text(), above: floor), next))
      try environment.set(Netrc.variable, "/proc/self/fd/\(next)")
    }
    return Launch(words: words, environment: environment, files: opened)
  }

  private mutating func add(fileAt path: String, _ context: Context) throws {
    let content =
      path == "-"
      ? try SecretReader.read(0, limit: Self.largestFile, what: "the environment file", place: "standard input")
      : try SecretReader.file(path, limit: Self.largestFile, what: "the environment file", warning: false)
    let read = try EnvFile.read(content, place: path == "-" ? "standard input" : path).map { ($0.name, try Self.value($0)) }
    // A file of references alone may be read by others, and kept with a project.
    let hasSecrets = read.contains { if case .literal = $0.1 { true } else { false } }
    if hasSecrets, path != "-" { SecretReader.warn(ofFileAt: path) }
    variables += read
  }

  private static func value(_ entry: EnvFile.Entry) throws -> Value {
    // Only a reference, which is no secret, becomes a text.
    let text = entry.value.bytes.withUnsafeBytes { raw in raw.starts(with: Reference.scheme.utf8) ? PlainBytes.text(raw) : nil }
    return try text.map { .reference(try Reference($0)) } ?? .literal(entry.value)
  }

  private static func split(_ word: String, _ option: String) throws(Failure) -> (String, Reference) {
    guard let (name, text) = word.nameAndValue else {
      throw .usage("\(option) takes a name, '=' and a reference", try: "\(option) NAME=coffer://service/account")
    }
    guard !name.contains(where: \.isWhitespace) else {
      throw .usage(
        "'\(Printable.line(name))' is not a name: it contains a space", try: "\(option) NAME=coffer://service/account")
    }
    guard Reference.isMeant(by: text) else {
      throw .usage(
        "the value for '\(Printable.line(name))' in \(option) is not a reference (not repeated here), and a secret is never an "
          + "argument",
        try: "\(option) \(Printable.line(name))=coffer://service/account; env(1) sets a variable that is not secret")
    }
    return (name, try Reference(text))
  }

  private static func twice(_ name: String) -> Failure {
    .usage("'\(Printable.line(name))' is given twice", try: "one reference for each name")
  }
}
