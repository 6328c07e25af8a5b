// What the page uses of CodeMirror, as one module. `npm ci && npm run build` in this folder makes static/vendor/ anew.
export { basicSetup } from "codemirror";
export { Annotation, Compartment, EditorState, Text } from "@codemirror/state";
export { EditorView, keymap } from "@codemirror/view";
export { indentWithTab } from "@codemirror/commands";
export { HighlightStyle, StreamLanguage, syntaxHighlighting } from "@codemirror/language";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { jinja } from "@codemirror/lang-jinja";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
