// Readers of Markdown, YAML, XML and JSON that npm brings, for `parsers.py`.
//
// node node_readers.cjs FOLDER: FOLDER/node_modules holds the packages. The first line printed is
// the list of readers found. Each line read is ["READER", "TEXT"], answered by one line of JSON:
// HTML for Markdown, else the value read, or the tree of names of elements and attributes; a text
// that the reader refuses is {"error": "…"}.

const {createRequire} = require('module');
const path = require('path');
const readline = require('readline');
const {pathToFileURL} = require('url');

const within = createRequire(path.join(path.resolve(process.argv[2]), 'x.js'));
const load = async (name) => {
  const found = await import(pathToFileURL(within.resolve(name)));
  return found.default && Object.keys(found).length < 3 ? found.default : found;
};

console.warn = () => {};  // what JSON5 thinks of U+2028

const MAKERS = {
  async 'marked'() {
    const {marked} = await load('marked');
    return (text) => marked.parse(text, {gfm: true});
  },
  async 'markdown-it'() {
    const make = await load('markdown-it');
    const reader = make({html: true, linkify: true});
    for (const name of ['markdown-it-footnote', 'markdown-it-task-lists', 'markdown-it-deflist']) {
      reader.use(await load(name));
    }
    return (text) => reader.render(text);
  },
  async 'micromark'() {
    const {micromark} = await load('micromark');
    const {gfm, gfmHtml} = await load('micromark-extension-gfm');
    const options = {
      allowDangerousHtml: true, extensions: [gfm()], htmlExtensions: [gfmHtml()],
    };
    return (text) => micromark(text, options);
  },
  async 'remark'() {
    const {unified} = await load('unified');
    const parse = await load('remark-parse');
    const gfm = await load('remark-gfm');
    const html = await load('remark-html');
    const one = (found) => found.default || found;
    const reader = unified().use(one(parse)).use(one(gfm)).use(one(html), {sanitize: false});
    return (text) => String(reader.processSync(text));
  },
  async 'commonmark.js'() {
    const {Parser, HtmlRenderer} = await load('commonmark');
    const parser = new Parser();
    const renderer = new HtmlRenderer();
    return (text) => renderer.render(parser.parse(text));
  },
  async 'mdx'() {
    // What it makes is a program, so its tree is shown: an expression or import is a node.
    const {unified} = await load('unified');
    const one = (found) => found.default || found;
    const reader = unified().use(one(await load('remark-parse'))).use(one(await load('remark-mdx')));
    const names = {
      text: '', paragraph: 'p', emphasis: 'em', strong: 'strong', inlineCode: 'code', break: 'br',
    };
    const shown = (node) => {
      const name = node.type in names ? names[node.type] : node.type;
      const inside = (node.children || []).map(shown).join('');
      return name ? `<${name}>${inside}</${name}>` : '';
    };
    return (text) => shown(reader.parse(text));
  },
  async 'js-yaml'() {
    const yaml = await load('js-yaml');
    return (text) => yaml.load(text);
  },
  async 'yaml'() {
    const yaml = await load('yaml');
    return (text) => yaml.parse(text, {strict: true, uniqueKeys: true});
  },
  async 'saxes'() {
    const {SaxesParser} = await load('saxes');
    return (text) => {
      const tree = ['', [], []];
      const open = [tree];
      const parser = new SaxesParser();
      const say = (what) => open[open.length - 1][2].push([`not an element: ${what}`, [], []]);
      parser.on('error', (error) => { throw error; });
      parser.on('opentag', (tag) => {
        const made = [tag.name, Object.keys(tag.attributes).sort(), []];
        open[open.length - 1][2].push(made);
        open.push(made);
      });
      parser.on('closetag', () => open.pop());
      for (const what of ['comment', 'cdata', 'processinginstruction', 'doctype']) {
        parser.on(what, () => say(what));
      }
      parser.write(text).close();
      return tree;
    };
  },
  async 'fast-xml-parser'() {
    const {XMLParser, XMLValidator} = await load('fast-xml-parser');
    const parser = new XMLParser({
      ignoreAttributes: false, preserveOrder: true, processEntities: true, trimValues: false,
      commentPropName: '#comment', cdataPropName: '#cdata',
    });
    const named = (node) => {
      const name = Object.keys(node).find((key) => key !== ':@');
      if (name === '#text') return [];
      const attributes = Object.keys(node[':@'] || {}).map((key) => key.replace('@_', '')).sort();
      const inside = Array.isArray(node[name]) ? node[name].flatMap(named) : [];
      return [[name.startsWith('#') ? `not an element: ${name}` : name, attributes, inside]];
    };
    return (text) => {
      const valid = XMLValidator.validate(text);
      if (valid !== true) throw new Error(JSON.stringify(valid));
      return ['', [], parser.parse(text).flatMap(named)];
    };
  },
  async 'JSON.parse'() {
    return (text) => JSON.parse(text);
  },
  async 'json5'() {
    const json5 = await load('json5');
    return (text) => json5.parse(text);
  },
};

(async () => {
  const readers = {};
  for (const [name, make] of Object.entries(MAKERS)) {
    try {
      readers[name] = await make();
    } catch (error) {
      if (process.argv[3]) console.error(name, error);
    }
  }
  console.log(JSON.stringify(Object.keys(readers)));
  for await (const line of readline.createInterface({input: process.stdin})) {
    const [name, text] = JSON.parse(line);
    let answer;
    try {
      answer = readers[name](text);
    } catch (error) {
      answer = {error: String(error && error.message).slice(0, 300)};
    }
    console.log(JSON.stringify(answer === undefined ? null : answer));
  }
})();
