-- Pandoc as a reader for `parsers.py`: a line "FORMAT BYTES" and that many bytes of Markdown come in,
-- a line "BYTES" and that many bytes of HTML go out.
local plain = {
  -- A language that it knows, by name or by the ending of a file, would be highlighted.
  CodeBlock = function(block)
    block.classes = block.classes:map(function(name) return 'unknown-' .. name:gsub('%.', '-') end)
    return block
  end
}
for line in io.lines() do
  local format, bytes = line:match('^(%S+) (%d+)$')
  local text = pandoc.read(io.read(tonumber(bytes)) or '', format)
  local html = pandoc.write(text:walk(plain), 'html')
  io.write(#html, '\n', html)
  io.flush()
end
