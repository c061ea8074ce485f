// Three codelets in Poplar's C++, which examples/cpp/run.py runs and checks.

#include <poplar/Vertex.hpp>

using namespace poplar;

static constexpr auto ONE_PTR = VectorLayout::ONE_PTR;

// Rows of a matrix times a vector: one vertex for some rows of a tile.
template <class T> class MatVec : public Vertex {
public:
  Vector<Input<Vector<T, ONE_PTR>>> rows;
  Input<Vector<T>> x;
  Output<Vector<T>> y;

  bool compute() {
    for (unsigned i = 0; i < rows.size(); ++i) {
      T total = 0;
      for (unsigned j = 0; j < x.size(); ++j)
        total += rows[i][j] * x[j];
      y[i] = total;
    }
    return true;
  }
};

template class MatVec<float>;
template class MatVec<int>;

// One step of the heat equation on a block of a grid: `in` has one row more at both ends, and one
// column more at both sides.
class Heat : public Vertex {
public:
  Vector<Input<Vector<float>>> in;
  Vector<Output<Vector<float>>> out;
  float rate;

  void compute() {
    for (unsigned r = 0; r < out.size(); ++r) {
      const auto &above = in[r];
      const auto &here = in[r + 1];
      const auto &below = in[r + 2];
      auto &result = out[r];
      for (unsigned c = 0; c < result.size(); ++c) {
        const float around = above[c + 1] + below[c + 1] + here[c] + here[c + 2];
        result[c] = here[c + 1] + rate * (around - 4 * here[c + 1]);
      }
    }
  }
};

// The largest element of a vector: each worker of the tile finds that of its part.
class Largest : public MultiVertex {
public:
  Input<Vector<float>> x;
  Output<Vector<float>> partials;

  bool compute(unsigned worker) {
    float largest = x[worker % x.size()];
    for (unsigned i = worker; i < x.size(); i += numWorkers())
      largest = largest < x[i] ? x[i] : largest;
    partials[worker] = largest;
    return true;
  }
};
