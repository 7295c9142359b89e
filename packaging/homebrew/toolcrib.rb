# Made by `cargo xtask release` from packaging/homebrew/toolcrib.rb.
class Toolcrib < Formula
  desc "Tool runtime for LLM agents"
  homepage "@BASE_URL@"
  version "@VERSION@"
  license any_of: ["Apache-2.0", "MIT"]

@IF:aarch64-apple-darwin@
  if OS.mac? && Hardware::CPU.arm?
    url "@BASE_URL@/toolcrib-@VERSION@-aarch64-apple-darwin.tar.gz"
    sha256 "@SHA256:aarch64-apple-darwin@"
  end
@END@
@IF:x86_64-apple-darwin@
  if OS.mac? && Hardware::CPU.intel?
    url "@BASE_URL@/toolcrib-@VERSION@-x86_64-apple-darwin.tar.gz"
    sha256 "@SHA256:x86_64-apple-darwin@"
  end
@END@
@IF:x86_64-unknown-linux-musl@
  if OS.linux? && Hardware::CPU.intel?
    url "@BASE_URL@/toolcrib-@VERSION@-x86_64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256:x86_64-unknown-linux-musl@"
  end
@END@
@IF:x86_64-unknown-linux-gnu@
  if OS.linux? && Hardware::CPU.intel?
    url "@BASE_URL@/toolcrib-@VERSION@-x86_64-unknown-linux-gnu.tar.gz"
    sha256 "@SHA256:x86_64-unknown-linux-gnu@"
  end
@END@
@IF:aarch64-unknown-linux-musl@
  if OS.linux? && Hardware::CPU.arm?
    url "@BASE_URL@/toolcrib-@VERSION@-aarch64-unknown-linux-musl.tar.gz"
    sha256 "@SHA256:aarch64-unknown-linux-musl@"
  end
@END@

  def install
    bin.install "toolcrib"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/toolcrib.bash" => "toolcrib"
    zsh_completion.install "completions/_toolcrib"
    fish_completion.install "completions/toolcrib.fish"
  end

  test do
    system bin/"toolcrib", "init", testpath/"app"
    assert_match "welcome.txt", shell_output("#{bin}/toolcrib run #{testpath}/app/app.yaml")
  end
end
