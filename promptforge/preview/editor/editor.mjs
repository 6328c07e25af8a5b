// What the page uses of CodeMirror, as one module. `npm ci && npm run build` in this folder makes static/vendor/ anew.
export { basicSetup } from "codemirror";
export { Annotation, EditorState, RangeSet, StateEffect, StateField } from "@codemirror/state";
export { EditorView, GutterMarker, gutter, hoverTooltip, keymap } from "@codemirror/view";
export { HighlightStyle, syntaxHighlighting } from "@codemirror/language";
export { lintGutter, setDiagnostics } from "@codemirror/lint";
export { jinja } from "@codemirror/lang-jinja";
export { yaml } from "@codemirror/lang-yaml";
export { tags } from "@lezer/highlight";
