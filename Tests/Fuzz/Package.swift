// swift-tools-version: 6.2
import PackageDescription

// The package that `.ci/fuzz` builds: libFuzzer programs over Coffer's own sources. They cannot depend on the package: the
// tested code is internal, and two of the targets are no library products.

let strict: [SwiftSetting] = [
  .enableUpcomingFeature("InternalImportsByDefault"),
  .enableUpcomingFeature("ExistentialAny"),
  .enableUpcomingFeature("MemberImportVisibility"),
]
/// Code instrumented for libFuzzer. Checks stay: a program that counts past the end of an integer must stop.
let watched: [SwiftSetting] = strict + [.unsafeFlags(["-sanitize=fuzzer", "-enable-testing"])]
let tested: [SwiftSetting] = strict + [.unsafeFlags(["-enable-testing"])]

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
let arguments = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")

func program(_ name: String, _ dependencies: [Target.Dependency]) -> Target {
  .executableTarget(
    name: "Fuzz\(name)", dependencies: ["FuzzShared", system] + dependencies, path: "Parsers/\(name)",
    swiftSettings: [.unsafeFlags(["-parse-as-library"])],
    // libFuzzer takes hints from compared words. Shared libraries compare too: libpq the names of its parameters, which are
    // no words of an input. They keep the C library's own functions.
    linkerSettings: [.unsafeFlags(["-sanitize=fuzzer", "-use-ld=lld", "-Xlinker", "--exclude-libs=ALL"])])
}

let package = Package(
  name: "coffer-fuzz",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
  ],
  targets: [
    .systemLibrary(name: "CCofferSodium", pkgConfig: "libsodium"),
    .systemLibrary(name: "CCofferSQLite", pkgConfig: "sqlite3"),
    .target(name: "CCofferPlatform"),
    .target(name: "CCofferLibraries"),
    .target(name: "CCofferPages"),
    .target(name: "CofferPlatform", dependencies: ["CCofferPlatform", system], swiftSettings: tested),
    .target(name: "CofferMemory", dependencies: ["CCofferSodium", "CofferPlatform"], swiftSettings: tested),
    .target(name: "CofferObservation", swiftSettings: tested),
    .target(
      name: "CofferStorage", dependencies: ["CofferMemory", "CofferObservation", "CofferPlatform", system], swiftSettings: tested),
    .target(name: "CofferDefaults", dependencies: ["CofferStorage", "CofferPlatform", system], swiftSettings: watched),
    .target(
      name: "CofferVaultFormat", dependencies: ["CofferStorage", "CofferMemory", "CCofferSodium", "CofferPlatform"],
      swiftSettings: watched),
    .target(
      name: "CofferVaultRows",
      dependencies: ["CofferVaultFormat", "CofferStorage", "CCofferSodium", "CCofferSQLite", "CofferPlatform", system],
      swiftSettings: watched),
    .target(
      name: "CofferVault",
      dependencies: [
        "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", system, logging,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferSync",
      dependencies: [
        "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform", system,
      ],
      swiftSettings: watched),
    .target(name: "CofferClient", dependencies: ["CCofferPlatform"], swiftSettings: watched),
    .target(
      name: "CofferKeys", dependencies: ["CofferMemory", "CofferPlatform", "CCofferSodium", "CCofferLibraries"],
      swiftSettings: watched),
    .target(
      name: "CofferAgent",
      dependencies: [
        "CofferClient", "CofferKeys", "CofferSync", "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferStorage",
        "CofferMemory", "CofferPlatform", system,
      ],
      swiftSettings: watched),
    .target(
      name: "Coffer",
      dependencies: [
        "CofferPlatform", "CofferStorage", "CofferDefaults", "CofferVault", "CofferVaultFormat", "CofferVaultRows",
        "CofferMemory", "CofferAgent", system,
      ],
      swiftSettings: tested),
    .target(
      name: "CofferPostgres",
      dependencies: [
        "CofferVault", "CofferVaultFormat", "CofferVaultRows", "CofferDefaults", "CofferStorage", "CofferMemory",
        "CofferPlatform", "CCofferLibraries", system,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferLogin",
      dependencies: ["Coffer", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferPlatform", "CCofferLibraries", system],
      swiftSettings: watched),
    .target(
      name: "CofferSecretService",
      dependencies: [
        "CofferAgent", "CofferVault", "CofferStorage", "CofferMemory", "CofferPlatform", "CCofferLibraries", system,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferSSH", dependencies: ["CofferAgent", "CofferClient", "CofferMemory", "CofferPlatform", system],
      swiftSettings: watched),
    .target(
      name: "CofferTerminal",
      dependencies: [
        "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", system, logging,
      ],
      swiftSettings: watched),
    .target(
      name: "CofferFormats",
      dependencies: [
        "CofferTerminal", "Coffer", "CofferMemory", "CofferPlatform", "CofferStorage", "CofferVault", "CCofferLibraries",
      ],
      swiftSettings: watched),
    .target(
      name: "CofferCLI",
      dependencies: [
        "Coffer", "CofferAgent", "CofferDefaults", "CofferFormats", "CofferLogin", "CofferMemory", "CofferPlatform",
        "CofferPostgres", "CofferSecretService", "CofferSSH", "CofferStorage", "CofferSync", "CofferTerminal", "CofferVault",
        "CofferVaultRows", "CCofferLibraries", "CCofferPages", arguments, system,
      ],
      // In a file named Main.swift, SwiftPM would take the target for a program, and another program would get none of its
      // code.
      swiftSettings: watched + [
        .unsafeFlags(["-parse-as-library", "-Xfrontend", "-entry-point-function-name", "-Xfrontend", "coffer_main"])
      ]),
    .target(
      name: "FuzzShared", dependencies: ["CofferMemory", "CofferPlatform"], path: "Parsers/Shared",
      swiftSettings: [.define("FUZZING")]),
    program(
      "Vault",
      [
        "CofferAgent", "CofferClient", "CofferKeys", "CofferSSH", "CofferSync", "CofferVault", "CofferVaultFormat",
        "CofferVaultRows", "CofferStorage", "CofferMemory", "CofferPlatform",
      ]),
    program(
      "Postgres",
      ["CofferPostgres", "CofferVault", "CofferVaultRows", "CofferDefaults", "CofferStorage", "CofferPlatform"]),
    program("Defaults", ["CofferDefaults", "CofferStorage", "CofferPlatform"]),
    program(
      "CommandLine",
      [
        "CofferCLI", "CofferFormats", "CofferTerminal", "CofferSecretService", "CofferLogin", "Coffer", "CofferVault",
        "CofferStorage", "CofferPlatform",
      ]),
  ],
  swiftLanguageModes: [.v6]
)
