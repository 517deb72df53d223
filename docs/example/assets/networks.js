// Trained networks that answer in the page: the forward pass of the Neural Data Router and of an
// LSTM in plain JavaScript, from the same safetensors that Python loads.
//
// window.wugNetworks.load(name) -> Promise of a network, from assets/networks/NAME.js, which calls
//   window.wugNetworks.keep(name, text) with the file as base64. Pages from a disk may not fetch
//   files, but may load scripts.
// network.about            what the file says of itself: model, model_options, labels, ...
// network.answer(tokens, numClasses) -> { logits, attention, openness }: attention
//   [step][head][target][source] and openness [step][column], with a column before the tokens and
//   one behind them; null for an LSTM.
// Sums are of double precision, so that answers are torch's but for its own rounding.
"use strict";

(() => {
  const EPSILON = 1e-5; // of torch's layer norm
  const SCALE = ":scale";
  const NUMBERS = { F32: Float32Array, I8: Int8Array };

  function parse(bytes) {
    const size = Number(new DataView(bytes.buffer).getBigUint64(0, true));
    const header = JSON.parse(new TextDecoder().decode(bytes.subarray(8, 8 + size)));
    const weights = new Map();
    for (const [name, { dtype, shape, data_offsets: [begin, end] }] of Object.entries(header)
      .filter(([key]) => key !== "__metadata__")) {
      const Numbers = NUMBERS[dtype];
      if (!Numbers) throw new Error(`${name} is of type ${dtype}, not F32 or I8`);
      const data = new Numbers(bytes.slice(8 + size + begin, 8 + size + end).buffer);
      weights.set(name, { data, shape });
    }
    // A wheel has whole numbers for the weights of a matrix, and a scale for each row.
    for (const [name, { data: scales }] of weights) {
      if (!name.endsWith(SCALE)) continue;
      const rounded = weights.get(name.slice(0, -SCALE.length));
      const length = rounded.data.length / scales.length;
      rounded.data = Float32Array.from(rounded.data, (x, i) => x * scales[Math.floor(i / length)]);
    }
    return { about: JSON.parse(header.__metadata__.about), weights };
  }

  const sigmoid = (x) => 1 / (1 + Math.exp(-x));
  const relu = (x) => Math.max(x, 0);
  // The error function, by its series that has no differences; beyond 5 it is 1 in any precision.
  function erf(x) {
    const size = Math.abs(x);
    if (size > 5) return Math.sign(x);
    let [term, sum] = [size, size];
    for (let n = 1; term > 1e-16 * sum; n += 1) {
      term *= (2 * size * size) / (2 * n + 1);
      sum += term;
    }
    return Math.sign(x) * 2 / Math.sqrt(Math.PI) * Math.exp(-size * size) * sum;
  }
  const gelu = (x) => 0.5 * x * (1 + erf(x / Math.SQRT2));

  // A row of a matrix, which begins at a place, times a vector: four sums side by side, so that none
  // waits for another.
  function dot(data, begin, row) {
    let [a, b, c, d] = [0, 0, 0, 0];
    const whole = row.length - (row.length % 4);
    for (let i = 0, at = begin; i < whole; i += 4, at += 4) {
      a += data[at] * row[i];
      b += data[at + 1] * row[i + 1];
      c += data[at + 2] * row[i + 2];
      d += data[at + 3] * row[i + 3];
    }
    for (let i = whole; i < row.length; i += 1) a += data[begin + i] * row[i];
    return a + b + c + d;
  }

  // A matrix with a bias: rows of inputs -> rows of outputs.
  function linear(rows, { data, shape: [outputs, inputs] }, bias = null, after = (x) => x) {
    return rows.map((row) => {
      const result = new Float64Array(outputs);
      for (let out = 0; out < outputs; out += 1) {
        result[out] = after(dot(data, out * inputs, row) + (bias ? bias.data[out] : 0));
      }
      return result;
    });
  }

  function layerNorm(row, weight, bias) {
    const mean = row.reduce((sum, x) => sum + x, 0) / row.length;
    const variance = row.reduce((sum, x) => sum + (x - mean) ** 2, 0) / row.length;
    const scale = 1 / Math.sqrt(variance + EPSILON);
    return row.map((x, i) => (x - mean) * scale * weight.data[i] + bias.data[i]);
  }

  const added = (one, other) => one.map((x, i) => x + other[i]);

  // Sources from near to far, the right one of two as far first.
  function nearFirst(target, count) {
    const places = [];
    for (let distance = 1; distance < count; distance += 1) {
      if (target + distance < count) places.push(target + distance);
      if (target - distance >= 0) places.push(target - distance);
    }
    return places;
  }

  class Router {
    constructor({ about, weights }) {
      this.about = about;
      this.weight = (name) => {
        if (!weights.has(name)) throw new Error(`the network has no ${name}`);
        return weights.get(name);
      };
      this.has = (name) => weights.has(name);
      const options = about.model_options;
      if (options.num_experts || options.biases) throw new Error("no such router can be run here");
      this.steps = options.test_steps ?? options.num_steps ?? 14;
      this.activation = options.modified ? gelu : relu;
      this.heads = options.num_heads ?? 1;
    }

    // What every column reads, and the weights of it: [head][target][source].
    read(state) {
      const [count, features] = [state.length, state[0].length];
      const channels = features / this.heads;
      const of = (name) => this.weight(`attention.${name}`);
      const projected = linear(state, of("weight_in"));
      const sides = linear(state, of("weight_direction"), of("bias_direction"));
      const [content, direction, bias] = ["content_scale", "direction_scale", "bias"]
        .map((name) => of(name).data[0]);
      const shift = of("query_bias").data;
      const mixed = state.map(() => new Float64Array(features));
      const attention = [];
      for (let head = 0; head < this.heads; head += 1) {
        const first = head * channels;
        const found = state.map(() => new Float64Array(count));
        for (let target = 0; target < count; target += 1) {
          let left = 1;
          const [asks, takes] = [projected[target], mixed[target]];
          for (const source of nearFirst(target, count)) {
            const gives = projected[source];
            let alike = 0;
            for (let i = first; i < first + channels; i += 1) {
              alike += (asks[i] + shift[i]) * gives[features + i];
            }
            const side = sides[target][2 * head + (source > target ? 1 : 0)];
            const match = sigmoid(content * alike + direction * side + bias);
            const weight = left * match;
            found[target][source] = weight;
            for (let i = first; i < first + channels; i += 1) {
              takes[i] += weight * gives[2 * features + i];
            }
            left *= 1 - match;
          }
        }
        attention.push(found);
      }
      return [linear(mixed, of("weight_out")), attention];
    }

    block(rows, name, after) {
      const of = (part) => this.weight(`${name}.${part}`);
      const hidden = linear(rows, of("weight_in"), of("bias_in"), this.activation);
      return linear(hidden, of("weight_out"), of("bias_out"), after);
    }

    norm(row, name) {
      return layerNorm(row, this.weight(`${name}.weight`), this.weight(`${name}.bias`));
    }

    answer(tokens, numClasses) {
      const { data, shape: [size, features] } = this.weight("embedding");
      const [end, begin] = [size - 2, size - 1];
      let state = [begin, ...tokens, end].map((token) =>
        Float64Array.from(data.subarray(token * features, (token + 1) * features)));
      const [attention, openness] = [[], []];
      for (let step = 0; step < this.steps; step += 1) {
        const [read, weights] = this.read(state);
        const columns = read.map((row, i) => this.norm(added(row, state[i]), "read_norm"));
        const mapped = this.block(columns, "feed_forward");
        const gates = this.block(columns, "gate", sigmoid);
        state = state.map((old, i) => {
          const whole = this.about.model_options.modified ? added(mapped[i], columns[i]) : mapped[i];
          const update = this.norm(whole, "update_norm");
          return old.map((x, feature) => x + gates[i][feature] * (update[feature] - x));
        });
        attention.push(weights.map((rows) => rows.map((row) => [...row])));
        openness.push(gates.map((row) => row.reduce((sum, x) => sum + x, 0) / features));
      }
      const column = this.about.model_options.readout === "first" ? state[0] : state.at(-1);
      return { logits: this.spell(column).slice(0, numClasses), attention, openness };
    }

    spell(column) {
      if (this.has("weight_out")) {
        return [...linear([column], this.weight("weight_out"), this.weight("bias_out"))[0]];
      }
      // Tied: answers are spelled as the first tokens are.
      const { data, shape } = this.weight("embedding");
      return [...linear([column], { data, shape })[0]].map((x) => x / Math.sqrt(shape[1]));
    }
  }

  class Recurrent {
    constructor({ about, weights }) {
      [this.about, this.weights] = [about, weights];
      if (about.model_options.bidirectional || (about.model_options.num_layers ?? 1) > 1) {
        throw new Error("only an LSTM of one layer and direction can be run here");
      }
    }

    answer(tokens) {
      const of = (name) => this.weights.get(`layers.0.0.${name}_l0`);
      const embedding = this.weights.get("embedding");
      const size = embedding.shape[1];
      let hidden = new Float64Array(this.weights.get("weight").shape[1]);
      let cell = hidden.slice();
      for (const token of tokens) {
        const row = embedding.data.subarray(token * size, (token + 1) * size);
        const [fresh] = linear([row], of("weight_ih"), of("bias_ih"));
        const [kept] = linear([hidden], of("weight_hh"), of("bias_hh"));
        const sums = added(fresh, kept);
        const part = (place) => sums.subarray(place * hidden.length, (place + 1) * hidden.length);
        const [input, forget, content, output] = [0, 1, 2, 3].map(part);
        cell = cell.map((x, i) =>
          sigmoid(forget[i]) * x + sigmoid(input[i]) * Math.tanh(content[i]));
        hidden = cell.map((x, i) => sigmoid(output[i]) * Math.tanh(x));
      }
      const [logits] = linear([hidden], this.weights.get("weight"), this.weights.get("bias"));
      return { logits: [...logits], attention: null, openness: null };
    }
  }

  const KINDS = { ndr: Router, lstm: Recurrent };
  const loading = new Map();
  const waiting = new Map();
  const texts = new Map();

  function decoded(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    const parsed = parse(bytes);
    const Kind = KINDS[parsed.about.model];
    if (!Kind) throw new Error(`no ${parsed.about.model} can be run here`);
    return new Kind(parsed);
  }

  window.wugNetworks = {
    keep(name, text) {
      texts.set(name, text);
      waiting.get(name)?.();
    },
    load(name) {
      if (!loading.has(name)) {
        loading.set(name, new Promise((resolve, reject) => {
          const done = () => { try { resolve(decoded(texts.get(name))); } catch (e) { reject(e); } };
          if (texts.has(name)) { done(); return; }
          waiting.set(name, done);
          const script = document.createElement("script");
          script.src = `assets/networks/${name}.js`;
          script.onerror = () => reject(new Error(`${script.src} can't be loaded`));
          document.head.append(script);
        }));
      }
      return loading.get(name);
    },
  };
})();
