# Kramdown as a reader for `parsers.py`: a line "FORMAT BYTES" and that many bytes of Markdown come
# in, a line "BYTES" and that many bytes of HTML go out.
require "kramdown"
require "kramdown-parser-gfm"

$stdin.binmode
$stdout.binmode
while (line = $stdin.gets)
  format, bytes = line.split
  text = ($stdin.read(bytes.to_i) || "").force_encoding("UTF-8")
  # A reference to a surrogate ends it with an error of its own.
  text.gsub!(/&#(?:x0*d[89a-f]\h\h|0*5[5-7]\d{3});/i, "&#xFFFD;")
  options = { input: format, syntax_highlighter: nil, math_engine: nil, hard_wrap: false }
  html = Kramdown::Document.new(text, options).to_html
  $stdout.write("#{html.bytesize}\n#{html}")
  $stdout.flush
end
