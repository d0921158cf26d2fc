// Forms made from a JSON Schema: one control for each property of an object, text for the rest.
import { html, useState } from './html.js';

/** @param {any} schema */
export function startValue(schema) {
  /** @type {Record<string, any>} */
  const value = {};
  for (const [name, property] of Object.entries(schema?.properties ?? {})) {
    if (property?.default !== undefined) value[name] = property.default;
  }
  return value;
}

const isForm = (/** @type {any} */ schema) => schema?.type === 'object' && schema.properties && Object.keys(schema.properties).length > 0;

/** @param {{schema: any, value: any, onChange: (value: any) => void, id: string, hidden?: string[]}} props */
export function SchemaForm({ schema, value, onChange, id, hidden = [] }) {
  if (!isForm(schema)) return html`<${JSONField} id=${id} label="Answer, as JSON" value=${value} onChange=${onChange} />`;
  const required = new Set(schema.required ?? []);
  return Object.entries(schema.properties).filter(([name]) => !hidden.includes(name)).map(([name, property]) => html`<${Field} key=${name} id=${`${id}-${name}`}
    name=${name} schema=${property} required=${required.has(name)} value=${value?.[name]}
    onChange=${(/** @type {any} */ v) => {
      const next = { ...value };
      if (v === undefined) delete next[name];
      else next[name] = v;
      onChange(next);
    }} />`);
}

/** @param {{id: string, name: string, schema: any, required: boolean, value: any, onChange: (value: any) => void}} props */
function Field({ id, name, schema, required, value, onChange }) {
  const label = schema.title ?? name;
  const help = schema.description && html`<div class="muted small" id=${`${id}-help`}>${schema.description}</div>`;
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (Array.isArray(schema.enum)) {
    return html`<div class="field"><label for=${id}>${label}</label>
      <select id=${id} value=${schema.enum.indexOf(value)} onChange=${(/** @type {any} */ e) => onChange(schema.enum[e.target.value])}>
        ${value === undefined && html`<option value="-1"></option>`}
        ${schema.enum.map((/** @type {any} */ one, /** @type {number} */ i) => html`<option key=${i} value=${i}>${String(one)}</option>`)}</select>${help}</div>`;
  }
  if (type === 'boolean') {
    return html`<div class="field check"><input id=${id} type="checkbox" checked=${value === true} onChange=${(/** @type {any} */ e) => onChange(e.target.checked)} />
      <label for=${id}>${label}</label>${help}</div>`;
  }
  if (type === 'number' || type === 'integer') {
    return html`<div class="field"><label for=${id}>${label}</label><input id=${id} type="number" required=${required} min=${schema.minimum} max=${schema.maximum}
      step=${type === 'integer' ? 1 : 'any'} value=${value ?? ''} onInput=${(/** @type {any} */ e) => onChange(e.target.value === '' ? undefined : Number(e.target.value))} />${help}</div>`;
  }
  if (type === 'string' || type === undefined && typeof value !== 'object') {
    return html`<div class="field"><label for=${id}>${label}</label><textarea id=${id} rows="2" required=${required} maxlength=${schema.maxLength} value=${value ?? ''}
      onInput=${(/** @type {any} */ e) => onChange(e.target.value === '' && !required ? undefined : e.target.value)}></textarea>${help}</div>`;
  }
  return html`<${JSONField} id=${id} label=${`${label}, as JSON`} value=${value} onChange=${onChange} />`;
}

/** @param {{id: string, label: string, value: any, onChange: (value: any) => void, rows?: number}} props */
export function JSONField({ id, label, value, onChange, rows = 4 }) {
  const [text, setText] = useState(value === undefined ? '' : JSON.stringify(value, null, 2));
  const [wrong, setWrong] = useState('');
  const change = (/** @type {any} */ e) => {
    setText(e.target.value);
    let problem = '';
    try {
      onChange(e.target.value.trim() ? JSON.parse(e.target.value) : undefined);
    } catch (error) {
      problem = `Not valid JSON: ${/** @type {any} */ (error).message}`;
    }
    e.target.setCustomValidity(problem); // nothing is sent meanwhile
    setWrong(problem);
  };
  return html`<div class="field"><label for=${id}>${label}</label>
    <textarea id=${id} class="mono" rows=${rows} spellcheck="false" aria-invalid=${wrong !== ''} value=${text} onInput=${change}></textarea>
    ${wrong && html`<div class="small bad-text" role="alert">${wrong}</div>`}</div>`;
}
