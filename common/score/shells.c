#include "score/shells.h"

const int score_shells_A[SCORE_SHELLS] = {0, 1, 2, 3, 4, 6, 10};

double score_inverse_d2(const double a_matrix[9], const int32_t hkl[3])
{
    double squares = 0.0;
    for (int i = 0; i < 3; i++) {
        const double q =
            a_matrix[3 * i] * hkl[0] + a_matrix[3 * i + 1] * hkl[1] + a_matrix[3 * i + 2] * hkl[2];
        squares += q * q;
    }
    return squares;
}

int score_shell(double inverse_d2)
{
    int shell = SCORE_SHELLS - 1;
    while (shell && !(inverse_d2 * score_shells_A[shell] * score_shells_A[shell] <= 1.0))
        shell--;
    return shell;
}
