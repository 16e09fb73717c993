// swift-tools-version: 6.2
import PackageDescription

// A service that reads its configuration and a secret through swift-configuration: `.ci/configuration` builds and tests it.
// A separate package, so that nobody else fetches an HTTP server.
let package = Package(
  name: "configured-service",
  platforms: [.macOS(.v15)],
  dependencies: [
    .package(name: "coffer", path: "../..", traits: ["Configuration"]),
    .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0", traits: []),
    .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1", traits: []),
  ],
  targets: [
    .target(
      name: "Service",
      dependencies: [
        .product(name: "Coffer", package: "coffer"), .product(name: "CofferConfiguration", package: "coffer"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ]),
    .testTarget(
      name: "ServiceTests",
      dependencies: [
        "Service", .product(name: "Coffer", package: "coffer"), .product(name: "CofferConfiguration", package: "coffer"),
        .product(name: "CofferTesting", package: "coffer"), .product(name: "CofferVault", package: "coffer"),
        .product(name: "Configuration", package: "swift-configuration"),
        .product(name: "Hummingbird", package: "hummingbird"),
      ]),
  ],
  swiftLanguageModes: [.v6]
)
