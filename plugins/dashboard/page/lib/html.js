import htm from 'htm';
import { h } from 'preact';

/** Markup of Preact as a template literal: nothing is compiled. */
export const html = htm.bind(h);
