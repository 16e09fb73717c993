internal import ArgumentParser
internal import FoundationEssentials

/// The completion script for fish: one function, which finds the command on the line and prints the possible next words.
///
/// The parser's own script has a conditional `complete` line for each option of each command: a thousand functions that fish
/// runs at every key (two seconds in fish 3.6).
struct FishScript {
  struct Described: Decodable {
    struct Argument: Decodable {
      struct Name: Decodable { let kind: String, name: String }
      let kind: String
      let shouldDisplay: Bool
      let names: [Name]?
      let abstract: String?
      let isRepeating: Bool
      let allValues: [String]?
      let parsingStrategy: String
      private let completionKind: [String: Kept]?

      /// Only its key is needed.
      private struct Kept: Decodable {
        init(from decoder: any Decoder) throws {}
      }
      var completion: String? { completionKind?.keys.first }
    }
    let commandName: String
    let shouldDisplay: Bool
    let aliases: [String]?
    let abstract: String?
    let subcommands: [Described]?
    let arguments: [Argument]?
  }
  private struct Tree: Decodable { let command: Described }

  private var paths: [String] = []
  private var aliases: [String] = []
  private var valued: [String] = []
  private var options: [String] = []
  private var next: [String] = []
  private var values: [String] = []

  init() throws {
    let tree = try JSONDecoder().decode(Tree.self, from: Data(CofferCommand._dumpHelp().utf8))
    add(tree.command, path: [])
  }

  private mutating func add(_ command: Described, path: [String]) {
    let key = (path.isEmpty ? "coffer" : path.joined(separator: " "))
    let shown = (command.arguments ?? []).filter(\.shouldDisplay)
    for argument in shown where argument.kind != "positional" { add(option: argument, of: path, key) }
    let lines = shown.filter { $0.kind != "positional" }.flatMap { argument in
      (argument.names ?? []).map { Self.offer(Self.spelled($0), argument.abstract) }
    }
    options.append(Self.branch([key], lines))
    let subcommands = (command.subcommands ?? []).filter(\.shouldDisplay)
    if !subcommands.isEmpty {
      next.append(Self.branch(["\(key) 0"], subcommands.map { Self.offer($0.commandName, $0.abstract) }))
    }
    for (number, argument) in shown.filter({ $0.kind == "positional" && $0.parsingStrategy != "postTerminator" }).enumerated() {
      let places = argument.isRepeating ? "\(key) *" : "\(key) \(number)"
      if let line = Self.answer(argument, path, "positional@\(number)") { next.append(Self.branch([places], [line])) }
    }
    for subcommand in subcommands {
      let below = path + [subcommand.commandName]
      let name = below.joined(separator: " ")
      paths.append(name)
      for alias in subcommand.aliases ?? [] {
        aliases.append(Self.branch([(path + [alias]).joined(separator: " ")], ["set path \(Self.quoted(name)); continue"]))
      }
      add(subcommand, path: below)
    }
  }

  private mutating func add(option: Described.Argument, of path: [String], _ key: String) {
    guard option.kind == "option" else { return }
    let places = (option.names ?? []).map { "\(key) \(Self.spelled($0))" }
    valued += places
    let preferred = (option.names ?? []).first { $0.kind == "long" } ?? option.names?.first
    if let preferred, let line = Self.answer(option, path, Self.spelled(preferred)) { values.append(Self.branch(places, [line])) }
  }

  /// The script's line that prints the values of `argument`; nil if none are known.
  private static func answer(_ argument: Described.Argument, _ path: [String], _ name: String) -> String? {
    switch argument.completion {
    case "list": offer(argument.allValues ?? [])
    case "file", "directory": "__fish_complete_path $current"
    case "custom", "customDeprecated":
      "command $words[1] ---completion \(path.joined(separator: " ")) -- \(quoted(name)) (count $words) "
        + "(string length -- $current) $words $current"
    default: argument.allValues.map { offer($0) }
    }
  }

  private static func offer(_ values: [String]) -> String { "printf '%s\\n' " + values.map(quoted).joined(separator: " ") }

  private static func offer(_ word: String, _ abstract: String?) -> String {
    "printf '%s\\t%s\\n' \(quoted(word)) \(quoted(abstract ?? ""))"
  }

  private static func spelled(_ name: Described.Argument.Name) -> String { (name.kind == "long" ? "--" : "-") + name.name }

  private static func branch(_ cases: [String], _ lines: [String]) -> String {
    "case \(cases.map(quoted).joined(separator: " "))\n" + lines.map { "    \($0)\n" }.joined()
  }

  private static func quoted(_ text: String) -> String {
    "'" + text.replacing("\\", with: "\\\\").replacing("'", with: "\\'").replacing("\n", with: " ") + "'"
  }

  private static func body(_ branches: [String]) -> String {
    branches.joined().split(separator: "\n").map { "        \($0)" }.joined(separator: "\n")
  }

  var text: String {
    """
    function __coffer_words
        if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
            commandline --tokens-raw $argv
        else
            commandline -o $argv
        end
    end

    function __coffer_complete
        set -lx SAP_SHELL fish
        set -lx SAP_SHELL_VERSION $FISH_VERSION
        set -l words (__coffer_words -pc)
        set -l current (commandline -ct)
        set -l commands \(paths.map(Self.quoted).joined(separator: " "))
        set -l valued --home --vault \(valued.map(Self.quoted).joined(separator: " "))
        set -l path ''
        set -l place 0
        set -l option ''
        set -l ended ''
        set -l number 1
        for word in $words[2..]
            set number (math $number + 1)
            if test -n "$option"
                set option ''
                continue
            end
            if test -z "$ended"
                switch $word
                    case --
                        set ended yes
                        test "$path" = run; and break
                        continue
                    case '-*'
                        if contains -- $word $valued; or contains -- "$path $word" $valued; or contains -- "coffer $word" $valued
                            set option $word
                        end
                        continue
                end
                set -l deeper (string trim -- "$path $word")
                if test $place = 0; and contains -- $deeper $commands
                    set path $deeper
                    continue
                end
                if test $place = 0
                    switch $deeper
    \(Self.body(aliases))
                    end
                end
                if test "$path" = run
                    set number (math $number - 1)
                    break
                end
            end
            set place (math $place + 1)
        end
        if test "$path" = run; and test (math $number) -lt (count $words) -o -n "$ended"
            set -l rest $words[(math $number + 1)..]
            complete -C (string join ' ' -- (string escape -- $rest) $current)
            return
        end
        test -z "$path"; and set path coffer
        if test -n "$option"
            switch "$path $option"
    \(Self.body(values))
                case '* --home'
                    __fish_complete_directories $current
                case '* --vault'
                    __fish_complete_path $current
            end
            return
        end
        if string match -q -- '-*' $current; and test -z "$ended"
            switch $path
    \(Self.body(options))
            end
            return
        end
        switch "$path $place"
    \(Self.body(next))
        end
        if test "$path" = run
            complete -C $current
        end
    end

    complete -c coffer -f -k -a '(__coffer_complete)'
    """
  }
}
